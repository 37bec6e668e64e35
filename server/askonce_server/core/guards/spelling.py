"""One spelling for what people write in several: characters, inflections, British and American forms."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_PUNCTUATION = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′ʼ՚`´", "'"),
        **dict.fromkeys("“”„‟″«»「」『』", '"'),
        **dict.fromkeys("‐‑‒–—―−﹣", "-"),
        **dict.fromkeys("。।", "."),
        **dict.fromkeys("、،", ","),
        "؟": "?",
        "؛": ";",
        "⁄": "/",
        "٪": "%",
        "٫": ".",
        "٬": ",",
    }
)
_FRACTIONS = {"½": "1/2", "¼": "1/4", "¾": "3/4", "⅓": "1/3", "⅔": "2/3", "⅛": "1/8"}
_FRACTION = re.compile("([0-9])?([½¼¾⅓⅔⅛])")
_APOSTROPHE = re.compile("(?<=[A-Za-z])`(?=[A-Za-z])")
_VOWEL = re.compile("[aeiouy]")
_DOUBLE = re.compile(r"([b-df-hj-np-tv-z])\1$")
_MEMO = 1 << 14
"""Distinct words whose stem is remembered; a word is short, so this is about 2 MB at most."""
_LONG_WORD = 40

_IRREGULAR = """
am be|are be|is be|was be|were be|been be|being be|did do|done do|does do|had have|has have|having have
ate eat|eaten eat|began begin|begun begin|bought buy|brought bring|broke break|broken break|built build
came come|caught catch|chose choose|chosen choose|drank drink|drunk drink|drove drive|driven drive
drew draw|drawn draw|fell fall|fallen fall|flew fly|flown fly|forgot forget|forgotten forget
froze freeze|frozen freeze|gave give|given give|got get|gotten get|grew grow|grown grow|held hold|hid hide
hidden hide|kept keep|knew know|known know|lent lend|lost lose|made make|meant mean|met meet|paid pay
ran run|rang ring|rung ring|rode ride|ridden ride|said say|sang sing|sung sing|sank sink|sunk sink
saw see|seen see|sent send|shown show|slept sleep|sold sell|spent spend|spoke speak|spoken speak
stole steal|stolen steal|stood stand|swam swim|taught teach|thought think|threw throw|thrown throw
told tell|took take|taken take|went go|gone go|withdrew withdraw|withdrawn withdraw|won win|wrote write
written write|children child|kids kid|men man|women woman|feet foot|teeth tooth|mice mouse|knives knife
wives wife|wolves wolf|leaves leave|halves half|geese goose|criteria criterion|data data|news news
centre center|metre meter|kilometre kilometer|centimetre centimeter|millimetre millimeter|litre liter
millilitre milliliter|theatre theater|fibre fiber|programme program|cheque check|grey gray|tyre tire
licence license|practise practice|storey story|catalogue catalog|dialogue dialog|mum mom|mummy mom
pyjamas pajamas|jewellery jewelry|plough plow|aluminium aluminum|ageing aging|dying die|lying lie|tying tie
does do|goes go|bus bus|gas gas|yes yes|lens lens|gps gps|sms sms|dns dns|ios ios|aws aws|css css
"""
_KNOWN: dict[str, str] = dict(
    pair.split() for pair in _IRREGULAR.replace("\n", "|").split("|") if pair.strip()
)


def plain(text: str) -> str:
    """Return `text` with compatibility characters, digits of any script and quote marks made plain."""
    if "`" in text:
        text = _APOSTROPHE.sub("'", text)
    if text.isascii():
        return text
    text = text.encode("utf-8", "replace").decode()  # a lone surrogate could not be hashed
    text = _FRACTION.sub(lambda found: _spell_fraction(found[1], found[2]), text)
    text = unicodedata.normalize("NFKC", text).translate(_PUNCTUATION)
    if any(mark > "\x7f" and mark.isdecimal() for mark in text):
        text = "".join(
            str(unicodedata.decimal(mark)) if mark > "\x7f" and mark.isdecimal() else mark for mark in text
        )
    return text


def _spell_fraction(before: str | None, fraction: str) -> str:
    return f"{before} and {_FRACTIONS[fraction]}" if before else _FRACTIONS[fraction]


@lru_cache(_MEMO)
def stem(word: str) -> str:
    """Return what the inflections of a lower-case word share, not itself a word: `happi` of happily.

    A light stemmer after Harman's S-stemmer (1991), with -ing, -ed and -ly, and American endings.
    """
    if _KNOWN.get(word) == word or not word.isascii() or not word.isalpha() or len(word) > _LONG_WORD:
        return word
    word = _KNOWN.get(word, word)
    word = _without_plural(word)
    word = _KNOWN.get(word, word)
    if len(word) > 4:
        word = _without_ending(word)
    if len(word) > 3:
        word = _DOUBLE.sub(r"\1", word)
    return word.removesuffix("e") if len(word) > 3 else word


def _without_plural(word: str) -> str:
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zzes")):
        return word[:-2]
    return word[:-1]


def _without_ending(singular: str) -> str:
    word = singular
    if word.endswith("ly") and len(word) > 5:
        word = word[:-2]
    if word.endswith("ied"):
        word = word[:-3] + "y"
    elif word.endswith("ing") and len(word) > 5 and _VOWEL.search(word[:-3]):
        word = word[:-3]
    elif word.endswith("ed") and _VOWEL.search(word[:-2]):
        word = word[:-2]
    bare = word.removesuffix("e")
    if bare != singular and bare.endswith(("is", "ys")) and len(bare) > 5:
        return bare[:-1] + "z"
    if bare.endswith("our") and len(bare) > 5:
        return bare[:-3] + "or"
    return bare.replace("isation", "ization")


@lru_cache(_MEMO)
def rough(word: str) -> str:
    """Return what a long word keeps under most typing errors: first and last letter, and consonants."""
    if len(word) < 5 or not word.isascii():
        return word
    kept = word[0]
    for letter in word[1:-1]:
        if letter not in "aeiouy" and letter != kept[-1]:
            kept += letter
    return kept + word[-1]


def deletions(word: str) -> list[str]:
    """Return the word with each one letter left out: two words one typing error apart share one of these.

    The symmetric deletion index of SymSpell; finds every Damerau-Levenshtein distance of one.
    """
    return list(dict.fromkeys(word[:at] + word[at + 1 :] for at in range(len(word))))
