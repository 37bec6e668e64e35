"""`grpc.aio` against the thread-pool server: `python -m benchmarks.micro.aio [ROUNDS]`, 10 by default.

Both serve the product's own Lookup, and an empty one, under the load of `benchmarks/ghz/exact-hit.json`.
Rounds alternate A B B A. Run with `serve CONFIG` it is the asynchronous server, with `empty RESPONSE CONFIG`
its floor.
"""

from __future__ import annotations

import asyncio
import gc
import os
import platform
import signal
import sys
from collections.abc import Awaitable, Callable
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path

import grpc
from askonce_server.app import Sidecar
from askonce_server.config.load import load
from askonce_server.rpc.decision import SERVICE

from benchmarks import workload
from benchmarks.ghz.ratio import Found, compare, spread
from benchmarks.sidecar import OUT, module, started

Method = Callable[[bytes, grpc.aio.ServicerContext], Awaitable[bytes]]


async def serve(config: str, response: bytes | None) -> None:
    """Serve Lookup and Store on one event loop; with `response`, Lookup returns it and nothing else."""
    settings = load(config, os.environ)
    servicer = Sidecar(settings)._servicer  # noqa: SLF001  # the same service code under another server

    async def lookup(raw: bytes, context: grpc.aio.ServicerContext) -> bytes:
        return servicer.lookup(raw, context)

    async def empty(_raw: bytes, _context: grpc.aio.ServicerContext) -> bytes:
        return response

    async def store(raw: bytes, context: grpc.aio.ServicerContext) -> bytes:
        return servicer.store(raw, context)  # blocks the loop, which is well while nothing is measured

    methods: dict[str, Method] = {"Lookup": lookup if response is None else empty, "Store": store}
    table = {name: grpc.unary_unary_rpc_method_handler(method) for name, method in methods.items()}
    server = grpc.aio.server(
        handlers=[grpc.method_handlers_generic_handler(SERVICE, table)],
        options=[("grpc.so_reuseport", 0)],
    )
    for address in settings.listen:
        server.add_insecure_port(str(address))
    await server.start()
    gc.collect()
    gc.freeze()  # as `askonce serve` does
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await server.stop(grace=1)


def main() -> int:
    if sys.argv[1:2] == ["serve"]:
        asyncio.run(serve(sys.argv[2], None))
        return 0
    if sys.argv[1:2] == ["empty"]:
        asyncio.run(serve(sys.argv[3], Path(sys.argv[2]).read_bytes()))
        return 0
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(f"grpcio {version('grpcio')}, Python {platform.python_version()}, {os.cpu_count()} cores")
    response = OUT / "floor.bin"
    this = "benchmarks.micro.aio"
    with ExitStack() as stack:
        pool = stack.enter_context(started())
        loop = stack.enter_context(started(*module(this, "serve")))
        for server in (pool, loop):
            with server.channel() as channel:
                OUT.mkdir(exist_ok=True)
                response.write_bytes(workload.seed(channel, "hit", workload.QUESTIONS))
        pool_floor = stack.enter_context(started(*module("benchmarks.ghz.floor", str(response))))
        loop_floor = stack.enter_context(started(*module(this, "empty", str(response))))
        hits = compare({"threads": pool, "aio": loop}, rounds)
        floors = compare({"threads": pool_floor, "aio": loop_floor}, rounds)
    for name, found in {"exact hit": hits, "empty handler": floors}.items():
        _print(name, found)
    return 0


def _print(name: str, found: Found) -> None:
    for server, rounds in found.items():
        print(
            f"{name:<14}{server:<8} CPU a call {spread([one[0] for one in rounds], 'us')}"
            f"   calls/s {spread([one[1] for one in rounds], '')}"
        )
    pairs = list(zip(found["aio"], found["threads"], strict=True))
    print(f"{name:<14}CPU, aio / threads:     {spread([aio[0] / own[0] for aio, own in pairs], '', 2)}")
    print(f"{name:<14}calls/s, aio / threads: {spread([aio[1] / own[1] for aio, own in pairs], '', 2)}")


if __name__ == "__main__":
    sys.exit(main())
