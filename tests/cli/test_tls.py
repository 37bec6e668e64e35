"""The commands that talk to a server do so under TLS where they are told to, and only with the right one."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
import trustme
from grpc_health.v1 import health, health_pb2, health_pb2_grpc

from askonce.v1 import admin_service_pb2, admin_service_pb2_grpc, decision_service_pb2_grpc
from askonce_server.healthcheck import main
from cli.cpu import assert_light

BODY = b'{"model": "m", "temperature": 0, "messages": [{"role": "user", "content": "hi"}]}'
NAME = "askonce.internal"
REQUEST = ("-", "--dialect", "openai", "--endpoint", "chat", "--scope", "tenant=a")


class Admin(admin_service_pb2_grpc.AdminServiceServicer):
    def Purge(self, _request, _context):  # noqa: N802 - the contract's name
        return admin_service_pb2.PurgeResponse()


class Files:
    """A folder with the certificates of a server and of its clients."""

    def __init__(self, folder: Path):
        authority, stranger = trustme.CA(), trustme.CA()
        self.server = authority.issue_cert(NAME)
        self.authority = authority.cert_pem.bytes()
        self.ca, self.other_ca, self.own, self.theirs = (
            str(folder / f"{name}.pem") for name in ("ca", "other", "own", "theirs")
        )
        authority.cert_pem.write_to_path(self.ca)
        stranger.cert_pem.write_to_path(self.other_ca)
        authority.issue_cert("gateway").private_key_and_cert_chain_pem.write_to_path(self.own)
        stranger.issue_cert("gateway").private_key_and_cert_chain_pem.write_to_path(self.theirs)

    def named(self, *more):
        return ["--tls-ca", self.ca, "--tls-server-name", NAME, *more]

    def showing(self, identity):
        return self.named("--tls-cert", identity, "--tls-key", identity)


@pytest.fixture
def files(tmp_path):
    return Files(tmp_path)


@contextmanager
def secured(files, decisions=None, *, clients=False):
    """A server under TLS; `clients`: that demands certificates."""
    pair = (files.server.private_key_pem.bytes(), files.server.cert_chain_pems[0].bytes())
    credentials = grpc.ssl_server_credentials(
        [pair], files.authority if clients else None, require_client_auth=clients
    )
    with ThreadPoolExecutor(2) as pool:
        server = grpc.server(pool)
        servicer = health.HealthServicer()
        servicer.set("", health_pb2.HealthCheckResponse.SERVING)
        health_pb2_grpc.add_HealthServicer_to_server(servicer, server)
        admin_service_pb2_grpc.add_AdminServiceServicer_to_server(Admin(), server)
        if decisions is not None:
            decision_service_pb2_grpc.add_DecisionServiceServicer_to_server(decisions, server)
        port = server.add_secure_port("127.0.0.1:0", credentials)
        server.start()
        try:
            yield f"127.0.0.1:{port}"
        finally:
            server.stop(None).wait()


def test_healthcheck_under_tls(files, capsys):
    with secured(files) as target:
        assert main([target, *files.named()]) == 0
        assert capsys.readouterr().out == f"{target}: SERVING\n"
        assert main([target, "--tls-ca", files.other_ca, "--tls-server-name", NAME]) == 1
        assert main([target, "--tls-ca", files.ca]) == 1
        assert main([target, "--tls-ca", f"{files.ca}.none"]) == 1
        assert main([target]) == 1
    said = [line.removeprefix(f"{target}: ") for line in capsys.readouterr().err.splitlines()]
    assert said == [
        "no TLS with this server: unable to get local issuer certificate",
        "no TLS with this server: IP address mismatch, certificate is not valid for '127.0.0.1'.",
        f"cannot use {files.ca}.none: No such file or directory",
        "the server closed the connection",
    ]


def test_healthcheck_shows_its_certificate(files, capsys):
    with secured(files, clients=True) as target:
        assert main([target, *files.showing(files.own)]) == 0
        assert main([target, *files.showing(files.theirs)]) == 1
        assert main([target, *files.named()]) == 1
        assert main([target, *files.showing(files.ca)]) == 1
    told = capsys.readouterr().err.splitlines()[-1]
    assert told.startswith(f"{target}: cannot use {files.ca}, {files.ca} and {files.ca}: ")


def test_healthcheck_of_a_server_without_tls_says_so(files, server, capsys):
    assert main([server.target, *files.named()]) == 2
    assert capsys.readouterr().err == (
        f"askonce healthcheck: {server.target} is a socket, which is served without TLS: leave --tls-ca out\n"
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--tls-server-name", "a"], "--tls-cert, --tls-key and --tls-server-name go with --tls-ca"),
        (["--tls-ca", "a", "--tls-cert", "b"], "--tls-cert and --tls-key go together"),
    ],
)
def test_half_of_the_options_is_misuse(askonce, options, said):
    ran = askonce("healthcheck", "127.0.0.1:1", *options)
    assert (ran.code, ran.err) == (2, f"askonce healthcheck: {said}\n")
    ran = askonce("lookup", *REQUEST, "--target", "127.0.0.1:1", *options, stdin=BODY)
    assert (ran.code, ran.err) == (2, f"askonce: {said}\n")
    ran = askonce("purge", "--everything", "--yes", "--admin", "127.0.0.1:1", *options)
    assert (ran.code, ran.err) == (2, f"askonce: {said}\n")


def test_lookup_and_store_under_tls(askonce, files, server):
    with secured(files, server, clients=True) as target:
        where = ("--target", target, *files.showing(files.own))
        assert askonce("lookup", *REQUEST, *where, stdin=BODY).code == 0
        ran = askonce("store", *REQUEST, "--body", files.ca, "--finish-reason", "stop", *where, stdin=BODY)
        assert ran.code == 0
        assert len(server.asked) == 2
        for wrong in (files.named(), files.showing(files.theirs), ["--tls-ca", files.ca]):
            ran = askonce("lookup", *REQUEST, "--target", target, *wrong, stdin=BODY)
            assert (ran.code, len(server.asked)) == (1, 2)
            assert ran.err.startswith(f"askonce: cannot reach {target}: is `askonce serve` running there? (")
        ran = askonce("lookup", *REQUEST, "--target", target, "--tls-ca", "none.pem", stdin=BODY)
        assert (ran.code, ran.err) == (2, "askonce: none.pem cannot be read: No such file or directory\n")


def test_a_socket_has_no_tls(askonce, files, server):
    ran = askonce("lookup", *REQUEST, "--target", server.target, *files.named(), stdin=BODY)
    assert ran.code == 2
    assert (
        ran.err == f"askonce: {server.target} is a socket, which is served without TLS: leave --tls-ca out\n"
    )


def test_purge_under_tls(askonce, files):
    with secured(files, clients=True) as target:
        purge = ("purge", "--everything", "--yes", "--admin", target)
        assert askonce(*purge, *files.showing(files.own)).code == 0
        assert askonce(*purge, *files.showing(files.theirs)).code == 1


def test_healthcheck_stays_light_under_tls(files):
    script = Path(sys.executable).parent / "askonce"
    with secured(files) as target:
        assert_light([str(script), "healthcheck", target, *files.named()])
