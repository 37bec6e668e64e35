"""Reads a text as a model's tokens."""

from __future__ import annotations

import json
from typing import Any

from askonce_server.ports import EmbedderUnavailable, TextTooLong, TextUnreadable

_MOST_CHARACTERS = 32
"""How many characters a token has at most, over a whole text: what is longer is refused unread."""


def refuse_unread(text: str, *, max_tokens: int | None) -> None:
    """Refuse what need not be read as tokens. Raises TextUnreadable for a blank text, and TextTooLong."""
    if not text or text.isspace():
        raise TextUnreadable("the text is blank")
    if max_tokens is not None and len(text) > max_tokens * _MOST_CHARACTERS:
        raise TextTooLong(f"the text has {len(text)} characters; {max_tokens} tokens are read")


class TextReader:
    """Reads a text as tokens, and refuses every text that the model could not tell from others.

    A token for "unknown" stands for any word that the model never saw: to the packaged model, "cancel the
    order" and "confirm the order" in Chinese are the same four unknowns, at a cosine of 1. Blank texts all
    look the same too, and so do texts that differ only behind the window.
    """

    def __init__(self, tokenizer: Any, *, window: int, max_text: int | None, marks: bool) -> None:
        """Take over `tokenizer`, of the package tokenizers.

        `max_text` lowers the `window`, both in tokens; `marks` says whether the model wants its marks of
        beginning and end. Raises EmbedderUnavailable when `max_text` is beyond the window.
        """
        if max_text is not None and max_text > window:
            raise EmbedderUnavailable(f"max_text is {max_text}, and the model reads at most {window} tokens")
        # A tokenizer's file may tell it to cut or fill up, as the packaged one's does: at 128 tokens.
        tokenizer.no_truncation()
        tokenizer.no_padding()
        self._tokenizer = tokenizer
        self._marks = marks
        self._unknown = _unknown_id(tokenizer)
        self.max_tokens = window if max_text is None else max_text

    def ids(self, text: str) -> list[int]:
        """Return the tokens of `text`, marks included. Raises TextTooLong and TextUnreadable."""
        refuse_unread(text, max_tokens=self.max_tokens)
        encoding = self._encode(text)
        ids: list[int] = encoding.ids
        if len(ids) > self.max_tokens:
            raise TextTooLong(f"the text has {len(ids)} tokens; {self.max_tokens} are read")
        if all(encoding.special_tokens_mask):
            raise TextUnreadable("the model has no token for any of the text")
        if self._unknown in ids:
            raise TextUnreadable("the model has no token for a part of the text")
        return ids

    def _encode(self, text: str) -> Any:
        try:
            return self._tokenizer.encode(text, add_special_tokens=self._marks)
        except (TypeError, UnicodeEncodeError):  # which of them depends on the version
            raise TextUnreadable("the text holds half a character") from None


def copy_of(tokenizer: Any) -> Any:
    """Return a tokenizer of its own, so that settings of one do not reach the other."""
    return type(tokenizer).from_str(tokenizer.to_str())


def _unknown_id(tokenizer: Any) -> int | None:
    """Return the token for what the model never saw, or None when it can spell everything."""
    model = json.loads(tokenizer.to_str())["model"]
    if model.get("unk_token") is not None:
        found: int | None = tokenizer.token_to_id(model["unk_token"])
        return found
    at = model.get("unk_id")  # the form of Unigram models
    return at if isinstance(at, int) else None
