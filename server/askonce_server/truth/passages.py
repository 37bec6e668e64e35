"""An answer's text as the sentences that say something."""

from __future__ import annotations

import re

MOST_SENTENCES = 48
"""Of an answer; a longer one is compared by as many, spread over all of it."""
_MOST_WORDS = 60
"""Of a sentence; longer ones are split, so that no model's window cuts them."""
_MARKS = re.compile(r"[*_`#>|~]+|\[([^\]]*)\]\([^)]*\)")
_ITEM = re.compile(r"^\s*(?:[-+•‣·]|\(?\d{1,2}[.)]|\(?[a-z][.)])\s+", re.IGNORECASE)
_END = re.compile(r"(?<=[.!?;])[\"')\]]*\s+(?=[\"'(\[]*[^\W\d_a-zß-ÿ]|[\"'(\[]*\d|[^\x00-\x7f])")
_WORD = re.compile(r"\w")
_EMPTY = re.compile(
    r"""
    \b(?: (?:happy|glad|here|love|like)\ to\ (?:help|assist) | let\ me\ (?:know|explain|help) | feel\ free
    | (?:hope|trust)\ (?:this|that|it)\ help | (?:any|have)\ (?:other|more|further)\ questions?
    | anything\ else | don'?t\ hesitate | (?:thanks?|thank\ you)\ (?:for|you)\b | reaching\ out
    | (?:great|good)\ question | (?:here\ is|here's)\ what\ you | need\ (?:any)?\ ?(?:more|further)\ help
    | as\ an?\ (?:ai|language\ model|assistant) | i\ understand\ (?:that|your|how) | sorry\ (?:to\ hear|for) )
    """,
    re.IGNORECASE | re.VERBOSE,
)
_GREETINGS = frozenset(
    {
        *("sure", "certainly", "of course", "absolutely", "hi", "hello", "hi there", "hello there", "dear"),
        *("no problem", "you're welcome", "okay", "ok", "thanks", "thank you", "gladly", "with pleasure"),
        *("best regards", "kind regards", "regards", "cheers", "got it", "understood", "definitely"),
    }
)


def sentences(text: str) -> list[str]:
    """Return what the text says, without marks of layout and without courtesies."""
    found: list[str] = []
    for line in text.splitlines():
        bare = _MARKS.sub(lambda mark: mark.group(1) or "", _ITEM.sub("", _MARKS.sub(_label, line)))
        for sentence in _END.split(bare):
            said = " ".join(sentence.split())
            if _WORD.search(said) and not is_courtesy(said):
                found += _pieces(said)
    if len(found) > MOST_SENTENCES:
        step = len(found) / MOST_SENTENCES
        found = [found[int(at * step)] for at in range(MOST_SENTENCES)]
    return found


def is_courtesy(sentence: str) -> bool:
    """Whether a sentence says nothing of what was asked."""
    bare = sentence.strip(" .,!:;-").lower().replace("\u2019", "'")
    return bare in _GREETINGS or (len(bare) < 120 and _EMPTY.search(bare) is not None)


def label(text: str) -> str:
    """Return a short answer without case, marks and an article before it."""
    bare = " ".join(re.findall(r"\w+|[^\w\s.,;:!?\"'*_`#]", text.casefold()))
    return re.sub(r"^(?:the|an?) ", "", bare)


def _label(mark: re.Match[str]) -> str:
    return mark.group(1) or ""


def _pieces(sentence: str) -> list[str]:
    words = sentence.split(" ")
    if len(words) <= _MOST_WORDS:
        return [sentence]
    return [" ".join(words[at : at + _MOST_WORDS]) for at in range(0, len(words), _MOST_WORDS)]
