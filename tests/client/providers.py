"""A provider that counts its calls, and takes as long as a test says."""

from __future__ import annotations

import asyncio
import threading

import askonce
from client.scripted import ANSWER


class Broken(Exception):
    pass


class Provider:
    """Counts its calls, which take until `release` is set; each is answered by the next of `answers`."""

    def __init__(self, *answers, slow: bool = False) -> None:
        self.answers = answers or (ANSWER,)
        self.calls = 0
        self.begun = threading.Event()
        self.release = threading.Event()
        self._lock = threading.Lock()
        if not slow:
            self.release.set()

    def answer(self):
        answer = self.answers[min(self.calls, len(self.answers)) - 1]
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def fill(self):
        with self._lock:
            self.calls += 1
            answer = self.answer
        self.begun.set()
        assert self.release.wait(20)
        return answer()

    async def fill_async(self):
        self.calls += 1
        self.begun.set()
        if not self.release.is_set():
            assert await asyncio.to_thread(self.release.wait, 20)
        return self.answer()


def fill_of(client, provider):
    return provider.fill if isinstance(client, askonce.AskOnce) else provider.fill_async
