"""The floor: the same server as `askonce serve`, whose Lookup does nothing but return bytes made before.

`python -m benchmarks.ghz.floor RESPONSE CONFIG` answers every Lookup with the content of the file RESPONSE.
Everything else is the product's own: listeners, thread pool, options, health, reflection.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import grpc

from askonce_server import app
from askonce_server.config.load import load
from askonce_server.config.model import Config
from askonce_server.rpc.decision import SERVICE
from askonce_server.workers.identity import Worker


class EmptyServicer:
    """A DecisionService with an empty Lookup."""

    def __init__(self, response: bytes) -> None:
        self._response = response

    def handler(self, *_: object) -> grpc.GenericRpcHandler:
        """Return the service's handler. What the product guards its calls with is left out."""
        return grpc.method_handlers_generic_handler(
            SERVICE, {"Lookup": grpc.unary_unary_rpc_method_handler(self.lookup)}
        )

    def lookup(self, _raw: bytes, _context: grpc.ServicerContext) -> bytes:
        """Return the response."""
        return self._response


def main() -> int:
    response = Path(sys.argv[1]).read_bytes()

    class Floor(app.Sidecar):
        def __init__(self, config: Config, *, worker: Worker | None = None) -> None:
            super().__init__(config, worker=worker)
            self._servicer = EmptyServicer(response)

    app.Sidecar = Floor
    return app.serve(load(sys.argv[2], os.environ))


if __name__ == "__main__":
    sys.exit(main())
