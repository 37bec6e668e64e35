"""How much memory a Lookup takes while it is read and keyed, in multiples of its own bytes.

`python benchmarks/micro/parsing_memory.py`: each shape in its own process, peak of resident memory (Linux).
The weight of a call in `rpc/permits.py` comes from here.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import orjson

from askonce.v1 import decision_service_pb2, descriptor_pb2
from askonce_server.core.decide import decide
from askonce_server.core.decision import ReadGenerations
from askonce_server.core.entries import ZERO_GENERATION
from askonce_server.core.rules import Rule
from askonce_server.rpc.convert import asked
from askonce_server.rpc.handlers import parse
from askonce_server.service.asked import plan_for

_MIB = 1 << 20
_ENVIRON = {**os.environ, "MALLOC_MMAP_THRESHOLD_": "131072"}
"""What was freed while a request was made up must not count as there already."""
_TEXTS: Mapping[str, str] = {
    "words": "w " * (7 * _MIB // 2),
    "wide": "é€" * (7 * _MIB // 5),
    "escapes": '"\\' * (7 * _MIB // 4),
    "small": "w " * (7 * _MIB // 64),
}


def main() -> None:
    """Print a line for each shape; with the name of one, its figure alone."""
    if len(sys.argv) > 1:
        print(_factor(sys.argv[1]))
        return
    for shape in (*_TEXTS, "turns", "image"):
        command = [sys.executable, __file__, shape]
        told = subprocess.run(command, env=_ENVIRON, capture_output=True, text=True, check=True)
        print(f"{shape:8} {told.stdout.strip()}")


def _factor(shape: str) -> str:
    raw = _request(_content(shape))
    _key(_request(b'[{"role":"user","content":"hi"}]'))
    before = _resident("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    _key(raw)
    took = _resident("VmHWM") - before
    return f"{len(raw) / _MIB:5.2f} MiB: {took / _MIB:6.1f} MiB, {took / len(raw):.1f} times"


def _content(shape: str) -> bytes:
    if shape == "turns":
        return orjson.dumps([{"role": "user", "content": f"turn {at} " + "w " * 500} for at in range(7_000)])
    if shape == "image":
        url = {"url": "data:image/png;base64," + "A" * 7 * _MIB}
        return orjson.dumps([{"role": "user", "content": [{"type": "image_url", "image_url": url}]}])
    return orjson.dumps([{"role": "user", "content": _TEXTS[shape]}])


def _request(messages: bytes) -> bytes:
    body = b'{"model":"m","temperature":0,"messages":' + messages + b"}"
    served = descriptor_pb2.Target(provider="openai", model="m")
    wanted = descriptor_pb2.RequestDescriptor(
        dialect="openai", endpoint="chat", served=served, scope={"tenant": "t"}, body_json=body
    )
    return decision_service_pb2.LookupRequest(descriptor=wanted).SerializeToString()


def _key(raw: bytes) -> None:
    plan = plan_for(asked(parse(decision_service_pb2.LookupRequest, raw)), [Rule("r")])
    deciding = decide(plan, now_ms=1)
    question = next(deciding)
    try:
        while True:
            reads = isinstance(question, ReadGenerations)
            question = deciding.send((ZERO_GENERATION,) * len(question.names) if reads else None)
    except StopIteration:
        return


def _resident(name: str) -> int:
    """Return one of the figures of this process's memory, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith(f"{name}:"))


if __name__ == "__main__":
    main()
