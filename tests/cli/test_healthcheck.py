"""The health check against real servers, and against everything that is none."""

import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

import grpc
import pytest
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from askonce_server.healthcheck import main
from cli.cpu import assert_light

SERVING = health_pb2.HealthCheckResponse.SERVING
NOT_SERVING = health_pb2.HealthCheckResponse.NOT_SERVING


@contextmanager
def grpc_server(address, *, with_health=True):
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        servicer = health.HealthServicer()
        if with_health:
            health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
        port = server.add_insecure_port(address)
        server.start()
        servicer.set("", SERVING)
        servicer.set("askonce.store", NOT_SERVING)
        try:
            yield servicer, port
        finally:
            server.stop(None).wait()


@contextmanager
def tcp_server(answer):
    """A server that reads the request, gives `answer`, and closes (or stays silent when it is None)."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        done = threading.Event()

        def serve():
            connection, _ = listener.accept()
            with connection:
                connection.recv(65536)
                if answer is None:
                    done.wait(10)
                else:
                    connection.sendall(answer)
                    with suppress(OSError):  # the client may have hung up on what it did not like
                        connection.shutdown(socket.SHUT_WR)
                        while connection.recv(65536):
                            pass

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield f"127.0.0.1:{listener.getsockname()[1]}"
        finally:
            done.set()
            thread.join()


@pytest.fixture
def sock(tmp_path):
    return f"unix://{tmp_path}/a.sock"


def test_a_serving_server_is_serving(sock, capsys):
    with grpc_server(sock):
        assert main([sock]) == 0
    assert capsys.readouterr().out == f"{sock}: SERVING\n"


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_over_tcp(host, capsys):
    with grpc_server("127.0.0.1:0") as (_, port):
        assert main([f"{host}:{port}", "--timeout=5s"]) == 0
    assert capsys.readouterr().out == f"{host}:{port}: SERVING\n"


def test_a_server_that_drains_is_not_serving(sock, capsys):
    with grpc_server(sock) as (servicer, _):
        servicer.enter_graceful_shutdown()
        assert main([sock]) == 1
    assert capsys.readouterr().err == f"{sock}: NOT_SERVING\n"


def test_one_service_can_be_asked_for(sock, capsys):
    with grpc_server(sock):
        assert main(["--service", "askonce.store", sock]) == 1
        assert main([sock, "--service=nobody.knows"]) == 1
    assert capsys.readouterr().err == f"{sock}: NOT_SERVING\n{sock}: has no such service\n"


def test_a_server_without_health_says_so(sock, capsys):
    with grpc_server(sock, with_health=False):
        assert main([sock]) == 1
    assert capsys.readouterr().err == f"{sock}: has no health service\n"


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n", "does not speak gRPC in plain text"),
        (b"SSH-2.0-OpenSSH_9.7\r\n", "does not speak gRPC in plain text"),
        (b"", "the server closed the connection"),
        (b"\x00\x00", "the server closed the connection"),
        (b"\x00\x00\x04\x03\x00\x00\x00\x00\x01\x00\x00\x00\x07", "the server ended the call"),
        (
            b"\x00\x00\x08\x07\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x0b",
            "the server ended the call",
        ),
        (b"\x00\x00\x01\x01\x05\x00\x00\x00\x01\x88", "gave no status"),
        (b"\x00\x00\x00\x00\x08\x00\x00\x00\x01", "the server closed the connection"),
        (b"\x00\x00\x05\x00\x01\x00\x00\x00\x01\x00\x00\x00\x00\x00", "the server closed the connection"),
    ],
)
def test_what_is_no_health_service_is_not_serving(answer, said, capsys):
    with tcp_server(answer) as target:
        assert main([target]) == 1
    assert capsys.readouterr().err == f"{target}: {said}\n"


def test_padding_pings_and_split_frames_are_understood(capsys):
    settings = b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
    ping = b"\x00\x00\x08\x06\x00\x00\x00\x00\x00" + b"12345678"
    head = b"\x00\x00\x01\x01\x04\x00\x00\x00\x01\x88"
    first = b"\x00\x00\x04\x00\x08\x00\x00\x00\x01" + b"\x01" + b"\x00\x00" + b"P"
    second = b"\x00\x00\x05\x00\x00\x00\x00\x00\x01" + b"\x00\x00\x02\x08\x01"
    with tcp_server(settings + ping + head + first + second) as target:
        assert main([target]) == 0
    assert capsys.readouterr().out == f"{target}: SERVING\n"


def test_a_silent_server_is_given_up(capsys):
    with tcp_server(None) as target:
        assert main([target, "--timeout", "0.05"]) == 1
    assert capsys.readouterr().err == f"{target}: no answer within 0.05 s\n"


def test_no_server_at_all(sock, capsys, tmp_path):
    (tmp_path / "stale.sock").touch()
    assert main([sock]) == 1
    assert main([f"unix://{tmp_path}/stale.sock"]) == 1
    assert main(["not-an-address"]) == 1
    assert main([f"unix://{tmp_path}/{'x' * 120}"]) == 1
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == f"{sock}: cannot connect: No such file or directory"
    assert lines[1].endswith("stale.sock: cannot connect: Connection refused")
    assert lines[2] == "not-an-address: is no address: use unix:///path or host:port"
    assert lines[3].endswith("cannot connect: AF_UNIX path too long")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["a:1", "b:2"], "one target at a time, not 2"),
        (["--timeout"], "--timeout needs a value"),
        (["--timeout", "0"], "--timeout must be a number of seconds above 0"),
        (["--timeout", "nan"], "--timeout must be a number of seconds above 0"),
        (["--timout", "1"], "there is no option --timout; see askonce healthcheck --help"),
        (["--service", "x" * 128], "--service must have at most 127 bytes"),
    ],
)
def test_misuse_is_told_apart(arguments, said, capsys):
    assert main(arguments) == 2
    assert capsys.readouterr().err == f"askonce healthcheck: {said}\n"


def test_the_default_target_follows_the_environment(sock, monkeypatch, tmp_path, capsys):
    with grpc_server(sock):
        monkeypatch.setenv("ASKONCE_TARGET", sock)
        assert main([]) == 0
        monkeypatch.delenv("ASKONCE_TARGET")
    default = f"unix://{tmp_path}/askonce.sock"
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with grpc_server(default):
        assert main([]) == 0
    assert capsys.readouterr().out == f"{sock}: SERVING\n{default}: SERVING\n"


def test_help_has_examples(capsys):
    assert main(["--help"]) == 0
    assert "Examples:\n  askonce healthcheck\n" in capsys.readouterr().out


PROBE = "import sys; sys.argv[0] = 'askonce'; from askonce_server.cli import main; code = main()"


def test_nothing_heavy_is_imported(sock):
    report = "print(code, *sys.modules)"
    with grpc_server(sock):
        ran = subprocess.run(
            [sys.executable, "-I", "-c", f"{PROBE}; {report}", "healthcheck", sock],
            capture_output=True,
            text=True,
            check=True,
        )
    code, *modules = ran.stdout.splitlines()[1].split()
    assert code == "0"
    heavy = {
        "grpc",
        "google",
        "pydantic",
        "typer",
        "yaml",
        "socket",
        "dataclasses",
        "typing",
        "re",
        "asyncio",
    }
    assert heavy & set(modules) == set()


def test_it_takes_little_cpu(sock):
    script = Path(sys.executable).parent / "askonce"
    with grpc_server(sock):
        assert_light([str(script), "healthcheck", sock])
