"""Whether two stored answers say the same: no prompt is read, and nothing of an answer is kept.

In turn: what they say byte for byte; tool calls by name and arguments; JSON by its values; short labels by
their words; everything else sentence by sentence. What none of these decides is put to a judge, if there is
one, and is unknown else.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, Protocol

import orjson

from askonce_server.core.said import Said
from askonce_server.ports import Embedder
from askonce_server.truth.likeness import Likeness, Passages
from askonce_server.truth.passages import label
from askonce_server.truth.verdict import Verdict

_VERSION = 1
"""Raised when equal answers may be compared with another outcome."""
_LABEL_WORDS, _LABEL_CHARACTERS = 4, 40
"""Up to which an answer is a label, in which every word counts."""
_FENCE = "```"


class AnswerJudge(Protocol):
    """Says of two answers whether they are the same. Safe to call from any thread."""

    @property
    def fingerprint(self) -> bytes:
        """What changes whenever it may say something else: model and prompt."""

    def same(self, one: str, other: str, *, deadline: float) -> bool | None:
        """Whether both texts say the same; None: it cannot tell by `deadline`, in monotonic seconds."""


class Comparator:
    """Compares answers with an embedder, and a judge where one is configured. Safe to call from any thread.

    Without an embedder prose of different wording is unknown.
    """

    def __init__(self, embedder: Embedder | None = None, judge: AnswerJudge | None = None) -> None:
        self._passages = Passages(embedder) if embedder is not None else None
        self._embedder = embedder
        self._judge = judge

    @property
    def fingerprint(self) -> bytes:
        """16 bytes that change whenever answers may be compared with another outcome: labels end with it.

        Raises EmbedderFailed while the embedder does not know its own.
        """
        parts = [
            _VERSION.to_bytes(2, "little"),
            self._embedder.fingerprint if self._embedder is not None else b"",
            self._judge.fingerprint if self._judge is not None else b"",
        ]
        framed = b"".join(len(part).to_bytes(4, "little") + part for part in parts)
        return blake2b(framed, digest_size=16, person=b"askonce.compare").digest()

    def compare(self, one: Said | None, other: Said | None, *, deadline: float) -> Verdict:
        """Compare what two answers say; None is one that could not be read, and like no other."""
        if one is None or other is None or one.empty or other.empty:
            return Verdict.UNKNOWN
        if one == other:
            return Verdict.SAME
        if one.calls or other.calls:
            return _same_if(sorted(one.calls) == sorted(other.calls))
        if one.rest or other.rest:
            return _by_rest(one, other)
        if one.refused != other.refused:
            return Verdict.DIFFERENT
        verdict = self._texts(one.text, other.text, deadline)
        if verdict is Verdict.UNKNOWN and self._judge is not None:
            said = self._judge.same(one.text, other.text, deadline=deadline)
            return verdict if said is None else _same_if(said)
        return verdict

    def _texts(self, one: str, other: str, deadline: float) -> Verdict:
        documents = _document(one), _document(other)
        if documents[0] is not None and documents[1] is not None:
            return _values(*documents, lambda a, b: self._prose(a, b, deadline))
        if documents != (None, None):
            return Verdict.UNKNOWN
        return self._prose(one, other, deadline)

    def _prose(self, one: str, other: str, deadline: float) -> Verdict:
        labels = label(one), label(other)
        if labels[0] == labels[1]:
            return Verdict.SAME if labels[0] else Verdict.UNKNOWN
        short = [_is_label(text) for text in (one, other)]
        if all(short):
            words = [set(text.split()) for text in labels]
            contained = words[0] <= words[1] or words[1] <= words[0]
            return Verdict.UNKNOWN if contained else Verdict.DIFFERENT
        if any(short) or self._passages is None:
            return Verdict.UNKNOWN
        likeness = self._passages.likeness(one, other, deadline=deadline)
        return Verdict.UNKNOWN if likeness is None else verdict_of(likeness)


_SAME_FROM = 0.66
"""The likeness from which answers are the same when nothing speaks against it."""
_DIFFERENT_BELOW = 0.50
"""The likeness below which they are different."""
_DOUBTFUL_BELOW = 0.58
"""The likeness below which they are when there is any other doubt."""
_LEAST_RATIO = 0.4
"""Of the lengths: an answer that says less than that of the other may leave something out."""


def verdict_of(likeness: Likeness) -> Verdict:
    """Return what the likeness of two texts amounts to: `python -m benchmarks.quality.comparison`."""
    doubtful = likeness.unmatched_facts or likeness.length_ratio < _LEAST_RATIO
    least = _DOUBTFUL_BELOW if doubtful else _DIFFERENT_BELOW
    if likeness.contradicted or likeness.score < least:
        return Verdict.DIFFERENT
    return Verdict.SAME if likeness.score >= _SAME_FROM and not doubtful else Verdict.UNKNOWN


def _is_label(text: str) -> bool:
    return len(text) <= _LABEL_CHARACTERS and len(text.split()) <= _LABEL_WORDS


def _same_if(same: bool) -> Verdict:  # noqa: FBT001 - private
    return Verdict.SAME if same else Verdict.DIFFERENT


def _by_rest(one: Said, other: Said) -> Verdict:
    """Compare answers of other kinds than text: only equal ones are known to be the same."""
    try:
        equal = orjson.loads(one.rest or b"null") == orjson.loads(other.rest or b"null")
    except orjson.JSONDecodeError:
        return Verdict.UNKNOWN
    return Verdict.SAME if equal and one.text == other.text else Verdict.UNKNOWN


def _document(text: str) -> Any:
    """Return the JSON object or array that a text is, in a fence or without, or None."""
    bare = text.strip()
    if bare.startswith(_FENCE) and bare.endswith(_FENCE) and "\n" in bare:
        bare = bare[bare.index("\n") : -len(_FENCE)].strip()
    if bare[:1] not in ("{", "["):
        return None
    try:
        return orjson.loads(bare)
    except orjson.JSONDecodeError:
        return None


def _values(one: Any, other: Any, prose: Callable[[str, str], Verdict]) -> Verdict:
    """Compare JSON values: texts by what they say, everything else by its value."""
    if isinstance(one, dict) and isinstance(other, dict):
        if one.keys() != other.keys():
            return Verdict.DIFFERENT
        return _all([_values(one[name], other[name], prose) for name in one])
    if isinstance(one, list) and isinstance(other, list):
        if len(one) != len(other):
            return Verdict.DIFFERENT
        return _all([_values(*pair, prose) for pair in zip(one, other, strict=True)])
    if isinstance(one, str) and isinstance(other, str):
        return Verdict.SAME if one == other else prose(one, other)
    return _same_if(one == other and isinstance(one, bool) == isinstance(other, bool))


def _all(verdicts: Sequence[Verdict]) -> Verdict:
    if Verdict.DIFFERENT in verdicts:
        return Verdict.DIFFERENT
    return Verdict.UNKNOWN if Verdict.UNKNOWN in verdicts else Verdict.SAME
