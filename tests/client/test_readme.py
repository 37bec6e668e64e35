"""The code in the client's README runs as it stands there."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import askonce

README = Path(__file__).parents[2] / "client" / "python" / "README.md"
BODY = b'{"model": "gpt-4o", "temperature": 0, "messages": []}'
ANSWER = b'{"choices": [{"finish_reason": "stop", "message": {"content": "Paris."}}]}'


class Provider:
    def __init__(self) -> None:
        self.calls = 0

    def __call__(self, body: bytes) -> tuple[int, bytes]:
        self.calls += 1
        return 200, ANSWER

    async def awaited(self, body: bytes) -> tuple[int, bytes]:
        return self(body)


@pytest.fixture
def provider() -> Provider:
    return Provider()


def code(heading: str, number: int, names: dict) -> dict:
    section = README.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    exec(re.findall(r"```python\n(.*?)```", section, re.DOTALL)[number], names)
    return names


def test_the_quick_start(monkeypatch, provider):
    targets = []

    def fake(target):
        targets.append(target)
        return askonce.FakeAskOnce()

    monkeypatch.setattr(askonce, "AskOnce", fake)
    names = code("Quick start", 0, {"call_openai": provider})
    assert targets == ["unix:///run/askonce/askonce.sock"]
    assert [names["complete"](BODY, "acme") for _ in range(3)] == [ANSWER] * 3
    assert provider.calls == 1
    assert names["complete"](BODY, "other") == ANSWER
    assert provider.calls == 2
    for _ in range(3):
        names["cache"].will_fail()
        assert names["complete"](BODY, "acme") == ANSWER
    assert provider.calls == 5


def test_the_quick_start_with_asyncio(provider):
    names = code("Quick start", 1, {"call_openai_async": provider.awaited})

    async def main():
        cache = askonce.AsyncFakeAskOnce()
        return [await names["complete_async"](cache, BODY, "acme") for _ in range(3)]

    assert asyncio.run(main()) == [ANSWER] * 3
    assert provider.calls == 1


def test_all_in_one_call(provider):
    names = vars(askonce) | {"call_openai": provider, "cache": askonce.FakeAskOnce()}
    fetch_complete = code("All in one call", 0, names)["fetch_complete"]
    assert [fetch_complete(BODY, "acme") for _ in range(3)] == [ANSWER] * 3
    assert provider.calls == 1


def test_the_tests_that_it_suggests(provider):
    class Gateway:
        def __init__(self, cache) -> None:
            self.cache = cache

        def complete(self, body):
            gpt = askonce.Target("openai", "gpt-4o")
            descriptor = askonce.Descriptor.openai_chat(body, served=gpt, scope={"tenant": "acme"})
            decision = self.cache.lookup(descriptor)
            if not decision.hit:
                self.cache.store(decision, askonce.UpstreamResponse(body=ANSWER, status_code=200))
            return SimpleNamespace(from_cache=decision.hit)

    names = code("In your tests", 0, {"gateway": Gateway, "BODY": BODY})
    suggested = [member for name, member in names.items() if name.startswith("test_")]
    assert len(suggested) == 2
    for test in suggested:
        test()


def test_its_tables_name_what_exists():
    text = README.read_text()
    for name in re.findall(r"BYPASS `(\w+)`", text):
        assert name in askonce.BypassReason.__members__
    errors = [row.split("|")[3] for row in text.splitlines() if "| BYPASS `" in row]
    for name in re.findall(r"`(\w+)`", "".join(errors)):
        assert issubclass(getattr(askonce, name), askonce.AskOnceError)
    for verb in re.findall(r"^\| `(\w+)\(", text, re.MULTILINE):
        assert callable(getattr(askonce.AskOnce, verb))
