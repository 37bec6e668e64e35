"""Word lists, written for this project: lines of alternatives that exclude each other, and of synonyms.

Sides of a line are parted by `|`, words of one side by spaces; a side is one thing under several names. `_`
joins the words of a phrase, `+` adds the comparative and the superlative (`cheap+`: cheaper, cheapest). A
first word that ends in `:` names the line. A line that begins with two spaces goes on from the one before.
"""

from __future__ import annotations


def lines(*texts: str) -> list[str]:
    """Return the lines of word lists."""
    return [
        line
        for text in texts
        for line in text.replace("\n  ", " ").splitlines()
        if line and not line.isspace()
    ]
