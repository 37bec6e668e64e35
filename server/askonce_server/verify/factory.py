"""Makes the verifiers that a configuration describes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from askonce_server.calls.errors import KeyUnusable
from askonce_server.calls.headers import api_key
from askonce_server.config.judge import JudgeSection
from askonce_server.ports import Verifier, VerifierUnavailable
from askonce_server.verify.breaker import BreakerVerifier
from askonce_server.verify.judge import JudgeSettings, JudgeVerifier
from askonce_server.verify.queue import VerifyQueue


def build_queued(section: JudgeSection, *, environ: Mapping[str, str] = os.environ) -> Verifier:
    """Return the judge behind its breaker and its queue. Raises VerifierUnavailable."""
    return VerifyQueue(BreakerVerifier(build(section, environ=environ)), threads=section.max_in_flight)


def build(section: JudgeSection, *, environ: Mapping[str, str] = os.environ) -> JudgeVerifier:
    """Return the judge that `section` describes. Raises VerifierUnavailable."""
    try:
        key = api_key(section.api_key_env, environ)
    except KeyUnusable as unusable:
        raise VerifierUnavailable(f"judge: {unusable}") from unusable
    settings = JudgeSettings(
        url=section.url,
        model=section.model,
        api_key=key,
        timeout_seconds=section.timeout.total_seconds(),
        connections=section.max_in_flight,
        response_format=section.response_format,
    )
    try:
        return JudgeVerifier(settings)
    except VerifierUnavailable as unavailable:
        raise VerifierUnavailable(f"judge: {unavailable}") from unavailable
