"""A server that answers as told, and a way to run the command line in this process."""

import io
import sys
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import grpc
import pytest

from askonce.v1 import decision_pb2, decision_service_pb2, decision_service_pb2_grpc


class Decisions(decision_service_pb2_grpc.DecisionServiceServicer):
    """Keeps what it was asked and answers what it was told to."""

    def __init__(self):
        self.asked = []
        self.decision = decision_pb2.Decision(outcome=decision_pb2.OUTCOME_MISS)
        self.stored = decision_service_pb2.StoreResponse(outcome=decision_service_pb2.STORE_OUTCOME_STORED)
        self.abort = None

    def Lookup(self, request, context):  # noqa: N802 - the contract's name
        self._keep(request, context)
        return decision_service_pb2.LookupResponse(decision=self.decision)

    def Store(self, request, context):  # noqa: N802 - as above
        self._keep(request, context)
        return self.stored

    def _keep(self, request, context):
        self.asked.append(request)
        if self.abort:
            context.abort(*self.abort)


@pytest.fixture
def server(tmp_path):
    with ThreadPoolExecutor(2) as pool:
        running = grpc.server(pool)
        decisions = Decisions()
        decision_service_pb2_grpc.add_DecisionServiceServicer_to_server(decisions, running)
        decisions.target = f"unix://{tmp_path}/server.sock"
        running.add_insecure_port(decisions.target)
        running.start()
        yield decisions
        running.stop(None).wait()


@pytest.fixture
def askonce(capsysbinary, monkeypatch, tmp_path):
    """Run a command line and return its exit code and what it wrote."""
    for name in ("ASKONCE_CONFIG", "ASKONCE_TARGET", "XDG_STATE_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.chdir(tmp_path)

    def run(*arguments, stdin=b""):
        from askonce_server.cli import main  # noqa: PLC0415 - after the environment is set

        monkeypatch.setattr(sys, "argv", ["askonce", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        code = main()
        out, err = capsysbinary.readouterr()
        return SimpleNamespace(code=code, out=out.decode(), err=err.decode(), raw=out)

    return run
