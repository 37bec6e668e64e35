"""What a text asks for: how much, when, where, why, who."""

from __future__ import annotations

from askonce_server.core.guards.contrasts import Mention
from askonce_server.core.guards.function_words import AUXILIARIES, FILLERS, WH
from askonce_server.core.guards.scan import STOP, Scan
from askonce_server.core.guards.units import DURATIONS, UNITS

_LINE = "q:asks"
_HOW = {
    "much": ("much",),
    "many": ("many", "much"),
    "long": ("long", "when"),
    "soon": ("when",),
    "quickly": ("long", "when"),
    "often": ("often",),
    "old": ("old", "when"),
    "far": ("far",),
    "come": ("why",),
}
_MANY = {
    **dict.fromkeys(DURATIONS, ("long", "when", "many", "much")),
    **dict.fromkeys(("mile", "km", "metre"), ("far",)),
}
_WHAT = {
    "time": ("when",),
    "date": ("when",),
    "day": ("when",),
    "year": ("when",),
    "reason": ("why",),
    "place": ("where",),
}
_ALONE = {
    "when": ("when",),
    "where": ("where",),
    "why": ("why",),
    "who": ("who",),
    "whom": ("who",),
    "whose": ("who",),
}
_HAPPENED = frozenset("did was were".split())
_LOOSELY = ("how", "where", "why")
"""How do I find it may ask for the place, how is it late for the reason; how did it sink for neither."""
_VERBS = AUXILIARIES | {"to", "exactly", "else"}
_BEFORE = frozenset("know tell me say explain understand ask and wondering you us about of".split())


def asks(row: Scan) -> set[Mention]:
    """Return the kinds of answer that a text asks for; who and when inside a sentence are no questions."""
    found: set[Mention] = set()
    if WH.isdisjoint(row.words):
        return found
    words, opening = row.words, True
    for at, word in enumerate(words):
        opening = row.gaps[at] == STOP or (opening and words[at - 1] in FILLERS)
        if word in WH and (opening or words[at - 1] in _BEFORE):
            found.update(Mention(_LINE, f"{_LINE}={side}") for side in _sides(row, at))
    return found


def _sides(row: Scan, at: int) -> tuple[str, ...]:
    """Return what the question word at a place asks for."""
    words = row.words
    word, following = words[at], words[at + 1] if at + 1 < len(words) else ""
    if word in {"what", "which"}:
        return _WHAT.get(following, ())
    if word in {"when", "where"} and following not in _VERBS and row.forms[at].lower() == word:
        return ()  # a clause: when I pay by card
    if word != "how":
        return _ALONE.get(word, ())
    if following in _HAPPENED:
        return ("how",)
    sides = _HOW.get(following, _LOOSELY if following in AUXILIARIES else ())
    if following == "much" and words[at + 2 : at + 3] in (["time"], ["longer"]):
        return _HOW["long"]
    if following == "many" and at + 2 < len(words):
        return _MANY.get(UNITS.get(words[at + 2], ""), sides)
    return sides
