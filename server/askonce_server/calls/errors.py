"""The errors of calls, which each port's adapter turns into its own."""

from __future__ import annotations


class CallFailed(Exception):
    """There was no answer, or none of use; the message says why and holds nothing of what was sent."""


class KeyUnusable(Exception):
    """The API key is not there or cannot be sent; the message says why and holds nothing of it."""
