"""Mistakes in a configuration, and how they are worded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

Path = tuple[str | int, ...]
"""Names and indexes from the top of the document to a setting."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One mistake: the setting, what is wrong and how to mend it, and where it was read."""

    path: str
    """For example `rules[2].semantic.threshold`; empty for the document as a whole."""
    message: str
    origin: str = ""
    """For example `askonce.yaml:14` or `ASKONCE_LISTEN`."""

    def __str__(self) -> str:
        return ": ".join(part for part in (self.origin, self.path, self.message) if part)


class ConfigError(Exception):
    """The configuration has mistakes; all of them are named."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        """Keep `problems`, at least one."""
        super().__init__("\n".join(str(problem) for problem in problems))
        self.problems = list(problems)


def written(path: Iterable[str | int]) -> str:
    """Return `path` as operators write it, for example `rules[2].semantic.threshold`."""
    text = ""
    for step in path:
        if isinstance(step, int):
            text += f"[{step}]"
        elif text:
            text += f".{step}"
        else:
            text = step
    return text
