"""Whether an entry may be served under a rule that need not be the one that stored it.

Rules of the same keys and scope share their entries, and a rule may have been changed since it stored: what a
rule would not have stored it does not serve either. Only what is known of a stored answer can be judged here.
"""

from __future__ import annotations

from askonce_server.core.decision import Request
from askonce_server.core.entries import Entry
from askonce_server.core.reasons import DenyReason
from askonce_server.core.rules import Admission, Rule


def why_not_shared(entry: Entry, request: Request, rule: Rule) -> DenyReason | None:
    """Return why `entry` must not be served to `request` under `rule`, or None. Its age is not looked at."""
    if entry.answer.stream not in (request.accepts or {request.stream}):
        return DenyReason.STREAM_SHAPE
    return why_not_admitted(entry, rule.admission)


def why_not_admitted(entry: Entry, admission: Admission) -> DenyReason | None:
    """Return why the answer of `entry` would not have been stored under `admission`, or None."""
    if entry.answer.contains_tool_calls and not admission.tool_calls:
        return DenyReason.TOOL_CALLS
    if admission.usage_required and entry.answer.usage is None:
        return DenyReason.NOT_ADMITTED
    return DenyReason.NOT_ADMITTED if entry.body_bytes > admission.max_body else None
