"""Whether two texts ask for different things, told from what is kept of each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import NamedTuple

from askonce_server.core.guards.amounts import date, number, unit
from askonce_server.core.guards.arrangement import order
from askonce_server.core.guards.features import SCHEMA, GuardFeatures, features
from askonce_server.core.guards.overlap import lexical, slot, strangers, swap, template
from askonce_server.core.guards.settings import GuardSettings
from askonce_server.core.guards.subjects import alternative, detail, entity, person, question
from askonce_server.core.guards.truth import negation, polarity, prefix
from askonce_server.core.reasons import DenyReason

_DEFAULT = GuardSettings()
_Fires = Callable[[GuardFeatures, GuardFeatures, GuardSettings], bool]
_GUARDS: tuple[tuple[str, DenyReason, _Fires], ...] = (
    ("lexical", DenyReason.GUARD_LEXICAL, strangers),
    ("number", DenyReason.GUARD_NUMBER, number),
    ("date", DenyReason.GUARD_NUMBER, date),
    ("unit", DenyReason.GUARD_NUMBER, unit),
    ("negation", DenyReason.GUARD_NEGATION, negation),
    ("prefix", DenyReason.GUARD_NEGATION, prefix),
    ("polarity", DenyReason.GUARD_NEGATION, polarity),
    ("entity", DenyReason.GUARD_ENTITY, entity),
    ("alternative", DenyReason.GUARD_ENTITY, alternative),
    ("person", DenyReason.GUARD_ENTITY, person),
    ("order", DenyReason.GUARD_ORDER, order),
    ("question", DenyReason.GUARD_LEXICAL, question),
    ("detail", DenyReason.GUARD_LEXICAL, detail),
    ("lexical", DenyReason.GUARD_LEXICAL, lexical),
    ("swap", DenyReason.GUARD_LEXICAL, swap),
    ("template", DenyReason.GUARD_LEXICAL, template),
    ("slot", DenyReason.GUARD_LEXICAL, slot),
)
NAMES = tuple(dict.fromkeys(name for name, _, _ in _GUARDS))
"""The guards in the order in which they are asked."""


class GuardHit(NamedTuple):
    """Why a candidate may not be served."""

    reason: DenyReason
    name: str
    """Which guard it was, as its setting is called; `schema` when the features cannot be compared."""


def judge(asked: GuardFeatures, stored: GuardFeatures, settings: GuardSettings = _DEFAULT) -> GuardHit | None:
    """Return the first guard that tells two texts apart, or None; the same whichever is first."""
    return next(all_hits(asked, stored, settings), None)


def all_hits(
    asked: GuardFeatures, stored: GuardFeatures, settings: GuardSettings = _DEFAULT
) -> Iterator[GuardHit]:
    """Yield every guard that tells two texts apart, in the order of `NAMES`."""
    if asked.schema != SCHEMA or stored.schema != SCHEMA:
        yield GuardHit(DenyReason.GUARD_LEXICAL, "schema")
        return
    if asked.sequence == stored.sequence and asked == stored:
        return
    strange = False
    for name, reason, fires in _GUARDS:
        if getattr(settings, name) and not (strange and fires is lexical) and fires(asked, stored, settings):
            strange = strange or fires is strangers
            yield GuardHit(reason, name)


def compare(one: str, other: str, settings: GuardSettings = _DEFAULT) -> list[GuardHit]:
    """Return every guard that tells two plain texts apart, for tools that have both."""
    return list(all_hits(features(one, _plain), features(other, _plain), settings))


def _plain(string: str) -> int:
    """Hash without a key: nothing of it is kept."""
    return int.from_bytes(blake2b(string.encode(errors="surrogatepass"), digest_size=8).digest())
