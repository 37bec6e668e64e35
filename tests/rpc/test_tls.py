"""Addresses that other machines can reach are served under TLS, and to known clients where that is set."""

from __future__ import annotations

import shutil
import subprocess

import grpc
import pytest

from askonce.v1 import decision_service_pb2, decision_service_pb2_grpc
from askonce_server.rpc.listen import ListenError
from rpc.harness import Gateway, Place, Running, free_port, short_folder
from rpc.replies import refused, verdict
from rpc.requests import describe, request

pytestmark = pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates")


@pytest.fixture(scope="module")
def keys():
    """A folder with an authority, and with certificates of it for a server and a client."""
    with short_folder() as folder:
        run = lambda *words: subprocess.run(["openssl", *words], check=True, cwd=folder, capture_output=True)
        new = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2")
        run("req", "-x509", *new, "-subj", "/CN=ca", "-keyout", "ca.key", "-out", "ca.pem")
        for name in ("server", "client"):
            san = "subjectAltName=DNS:localhost,IP:127.0.0.1"
            signed = ("-CA", "ca.pem", "-CAkey", "ca.key", "-addext", san)
            names = ("-keyout", f"{name}.key", "-out", f"{name}.pem")
            run("req", "-x509", *new, *signed, "-subj", f"/CN={name}", *names)
        yield folder


def serve(folder, keys, **tls):
    port = free_port()
    section = {"cert": str(keys / "server.pem"), "key": str(keys / "server.key"), **tls}
    server = Running(Place(folder, tls=section, listen=[f"unix://{folder}/s", f"0.0.0.0:{port}"]))
    return server, f"localhost:{port}"


def ask(address, **credentials):
    trust = grpc.ssl_channel_credentials(**credentials)
    with grpc.secure_channel(address, trust) as channel:
        stub = decision_service_pb2_grpc.DecisionServiceStub(channel)
        lookup: decision_service_pb2.LookupRequest = request(describe())
        return stub.Lookup(lookup, timeout=10).decision


def test_a_public_address_is_served_under_tls(keys):
    with short_folder() as folder:
        server, address = serve(folder, keys)
        assert verdict(ask(address, root_certificates=(keys / "ca.pem").read_bytes())) == "miss"
        with Gateway(address) as plain:
            assert refused(lambda: plain.ask(describe(), timeout=3)).code is grpc.StatusCode.UNAVAILABLE
        other_ca = (keys / "client.pem").read_bytes()
        assert refused(lambda: ask(address, root_certificates=other_ca)).code is grpc.StatusCode.UNAVAILABLE
        assert verdict(server.gateway.ask(describe())) == "miss", "the socket needs none"
        server.stop()


def test_where_clients_must_show_a_certificate_others_are_turned_away(keys):
    with short_folder() as folder:
        server, address = serve(folder, keys, client_ca=str(keys / "ca.pem"))
        trust = {"root_certificates": (keys / "ca.pem").read_bytes()}
        assert refused(lambda: ask(address, **trust)).code is grpc.StatusCode.UNAVAILABLE
        own = {
            "private_key": (keys / "client.key").read_bytes(),
            "certificate_chain": (keys / "client.pem").read_bytes(),
        }
        assert verdict(ask(address, **trust, **own)) == "miss"
        server.stop()


def test_files_that_cannot_be_used_are_named(keys):
    with short_folder() as folder:
        missing = folder / "nothing.pem"
        with pytest.raises(ListenError, match=str(missing)):
            serve(folder, keys, cert=str(missing))
        with pytest.raises(ListenError, match="certificate and key"):
            serve(folder, keys, cert=str(keys / "ca.key"))
