"""The thread-pool server against grpc.aio, `python -m benchmarks.micro.aio [ROUNDS=6]`.

The same composition, the same Lookup, the same load (ghz, 4 connections, 32 in flight, 1,000 descriptors
that hit), once with the product's own Lookup and once with an empty one. Rounds alternate A B B A; what
counts is the server's CPU time a call. Run with `serve CONFIG` or `serve-empty RESPONSE CONFIG` it is the
asyncio server.
"""

from __future__ import annotations

import asyncio
import os
import statistics
import sys
from pathlib import Path
from typing import Any

import grpc

from askonce_server import app
from askonce_server.config.load import load
from askonce_server.rpc.decision import SERVICE
from benchmarks import workload
from benchmarks.ghz.tool import run
from benchmarks.sidecar import OUT, Server, module, started

CALLS, WARM_UP = 8_000, 2_000


async def serve(config: str, response: bytes | None) -> None:
    """Serve Lookup and Store on asyncio until the process is told to stop."""
    sidecar = app.Sidecar(load(config, os.environ))
    servicer: Any = sidecar._servicer  # noqa: SLF001 - the product's own methods, on another server

    async def lookup(raw: bytes, context: Any) -> bytes:
        return servicer.lookup(raw, context) if response is None else response

    async def store(raw: bytes, context: Any) -> bytes:
        return await asyncio.to_thread(servicer.store, raw, context)

    handlers = {"Lookup": grpc.unary_unary_rpc_method_handler(lookup)}
    handlers["Store"] = grpc.unary_unary_rpc_method_handler(store)
    server = grpc.aio.server(options=[("grpc.so_reuseport", 0)])
    server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler(SERVICE, handlers)])
    server.add_insecure_port(str(load(config, os.environ).listen[0]))
    await server.start()
    await server.wait_for_termination()


def main() -> int:
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(sys.argv[2], None))
    elif sys.argv[1:2] == ["serve-empty"]:
        asyncio.run(serve(sys.argv[3], Path(sys.argv[2]).read_bytes()))
    else:
        compare(int(sys.argv[1]) if len(sys.argv) > 1 else 6)
    return 0


def compare(rounds: int) -> None:
    """Measure both pairs and print them."""
    OUT.mkdir(exist_ok=True)
    hits = (workload.lookup("hit", number) for number in range(workload.QUESTIONS))
    data = workload.write(OUT / "exact-hit.bin", hits)
    canned = OUT / "floor.bin"
    with started() as threads, started(*module("benchmarks.micro.aio", "serve")) as loop:
        for server in (threads, loop):
            with server.channel() as channel:
                canned.write_bytes(workload.seed(channel, "hit", workload.QUESTIONS))
        _alternate("Lookup, exact hit", {"threads": threads, "asyncio": loop}, data, rounds=rounds)
    empty = module("benchmarks.micro.aio", "serve-empty", str(canned))
    with started(*module("benchmarks.ghz.floor", str(canned))) as threads, started(*empty) as loop:
        _alternate("an empty handler", {"threads": threads, "asyncio": loop}, data, rounds=rounds)


def _alternate(title: str, servers: dict[str, Server], data: Path, *, rounds: int) -> None:
    for server in servers.values():
        run("exact-hit", server.address, data=data, total=WARM_UP, keep="warm-up")
    cpu: dict[str, list[float]] = {name: [] for name in servers}
    for number in range(rounds):
        for name in list(servers) if number % 2 == 0 else reversed(list(servers)):
            before = servers[name].cpu_seconds()
            report = run("exact-hit", servers[name].address, data=data, total=CALLS, keep=f"aio-{name}")
            if report.failed:
                sys.exit(f"{report.failed} calls failed: {report.codes}")
            cpu[name].append((servers[name].cpu_seconds() - before) / report.calls * 1e6)
    for name, values in cpu.items():
        print(
            f"{title}: {name} {statistics.median(values):.0f} us CPU a call"
            f" [{min(values):.0f} .. {max(values):.0f}]"
        )
    ratios = [loop / pool for pool, loop in zip(cpu["threads"], cpu["asyncio"], strict=True)]
    print(
        f"{title}: asyncio / threads {statistics.median(ratios):.2f} [{min(ratios):.2f} .. {max(ratios):.2f}]"
    )


if __name__ == "__main__":
    sys.exit(main())
