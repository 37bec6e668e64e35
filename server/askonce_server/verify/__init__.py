"""The verifiers: who decides on a candidate in the gray band."""

from __future__ import annotations

from askonce_server.verify.breaker import BreakerVerifier
from askonce_server.verify.factory import build, build_queued
from askonce_server.verify.judge import JudgeSettings, JudgeVerifier
from askonce_server.verify.kreciprocal import KReciprocalVerifier
from askonce_server.verify.queue import VerifyQueue

__all__ = [
    "BreakerVerifier",
    "JudgeSettings",
    "JudgeVerifier",
    "KReciprocalVerifier",
    "VerifyQueue",
    "build",
    "build_queued",
]
