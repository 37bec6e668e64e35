"""One of several processes that serve as one; started by the supervisor, by exec.

Usage: `python -m askonce_server.worker CONNECTION COUNTS`, the descriptors of both.
"""

from __future__ import annotations

import os
import signal
import socket
import sys
from pathlib import Path

from askonce_server.workers.orders import Orders, receive
from askonce_server.workers.pulse import Pulse, end_with


def main(arguments: list[str]) -> int:
    """Serve until told to stop; return the exit status."""
    connection, counts = (int(argument) for argument in arguments)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to all; the supervisor decides
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # until it serves: it reads the file again by itself then
    with socket.socket(fileno=connection) as supervisor:
        supervisor.set_inheritable(False)
        try:
            orders = receive(supervisor)
        except EOFError:
            return 1
        end_with(orders.supervisor)
        pulse = Pulse(supervisor)
        pulse.start()
        return _serve(orders, counts, pulse)


def _serve(orders: Orders, descriptor: int, pulse: Pulse) -> int:
    # All that is heavy, imported while the pulse beats.
    from askonce_server import app  # noqa: PLC0415
    from askonce_server.config.address import parse_address  # noqa: PLC0415
    from askonce_server.config.load import load, load_text  # noqa: PLC0415
    from askonce_server.config.reload import ConfigFile  # noqa: PLC0415
    from askonce_server.workers.counts import Kind, SharedCounts, latest  # noqa: PLC0415
    from askonce_server.workers.identity import Worker  # noqa: PLC0415

    if orders.file is None:
        config = load(None, os.environ)
    else:
        config = load_text(orders.text, name=orders.file, environ=os.environ)
        now = load_text(orders.rules, name=orders.file, environ=os.environ)
        config = config.model_copy(update={"rules": now.rules})
    update: dict[str, object] = {"listen": tuple(parse_address(one) for one in orders.listen)}
    if config.admin is not None:
        addresses = tuple(parse_address(one) for one in orders.admin)
        update["admin"] = config.admin.model_copy(update={"listen": addresses})
    for address in orders.telemetry:
        update["telemetry"] = config.telemetry.model_copy(update={"listen": parse_address(address)})
    worker = Worker(
        number=orders.number,
        instance=orders.instance,
        started=orders.started,
        began_ns=orders.began_ns,
        tallies=SharedCounts(descriptor, worker=orders.number, kind=Kind.TALLIES),
        stored=SharedCounts(descriptor, worker=orders.number, kind=Kind.STORE),
        recent=latest(descriptor, worker=orders.number),
        serving=pulse.serving,
    )
    os.close(descriptor)
    file = None
    if orders.file is not None:
        file = ConfigFile(Path(orders.file), text=orders.rules, config=config, environ=os.environ)
    return app.serve(config.model_copy(update=update), file=file, worker=worker)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
