"""Addresses that other machines can reach are served under TLS, and to known clients where that is set."""

from __future__ import annotations

import logging
from contextlib import contextmanager
from pathlib import Path

import grpc
import pytest
import trustme
from cryptography.hazmat.primitives import serialization

from askonce.v1 import decision_service_pb2_grpc
from askonce_server.rpc.listen import ListenError
from rpc.harness import Gateway, Place, Running, free_port, short_folder
from rpc.replies import refused, verdict
from rpc.requests import describe, request


class Secured:
    """A folder with the certificate, the key and the authorities that a server is told to use."""

    def __init__(self, folder: Path) -> None:
        self.cert, self.key, self.authorities = folder / "cert.pem", folder / "key.pem", folder / "ca.pem"

    def issue(self, authority: trustme.CA) -> None:
        """Put a new certificate in place, as a renewal does: file by file."""
        issued = authority.issue_cert("localhost", "127.0.0.1")
        replace(self.cert, b"".join(pem.bytes() for pem in issued.cert_chain_pems))
        replace(self.key, issued.private_key_pem.bytes())

    def trust(self, authority: trustme.CA) -> None:
        """Let the clients of an authority in, and nobody else."""
        replace(self.authorities, authority.cert_pem.bytes())

    def settings(self, **more) -> dict:
        return {"cert": str(self.cert), "key": str(self.key), **more}


def replace(path: Path, data: bytes) -> None:
    fresh = path.with_suffix(".new")
    fresh.write_bytes(data)
    fresh.replace(path)


@pytest.fixture
def secured():
    with short_folder() as folder:
        made = Secured(folder)
        made.authority = trustme.CA()
        made.issue(made.authority)
        made.trust(made.authority)
        yield made


@contextmanager
def served(**tls):
    with short_folder() as folder:
        port = free_port()
        place = Place(folder, tls=tls, listen=[f"unix://{folder}/s", f"0.0.0.0:{port}"])
        server = Running(place)
        server.address = f"localhost:{port}"
        try:
            yield server
        finally:
            server.stop()


def ask(server, authority: trustme.CA, client: trustme.LeafCert | None = None):
    """What a new connection hears from a server, which must show a certificate of `authority`."""
    own = {}
    if client is not None:
        chain = b"".join(pem.bytes() for pem in client.cert_chain_pems)
        own = {"private_key": client.private_key_pem.bytes(), "certificate_chain": chain}
    trust = grpc.ssl_channel_credentials(root_certificates=authority.cert_pem.bytes(), **own)
    options = (("grpc.use_local_subchannel_pool", 1),)
    with grpc.secure_channel(server.address, trust, options=options) as channel:
        stub = decision_service_pb2_grpc.DecisionServiceStub(channel)
        return verdict(stub.Lookup(request(describe()), timeout=10).decision)


def refusal(*asked) -> str:
    return refused(lambda: ask(*asked)).code.name


def test_a_public_address_is_served_under_tls(secured):
    with served(**secured.settings()) as server:
        assert ask(server, secured.authority) == "miss"
        with Gateway(server.address) as plain:
            assert refused(lambda: plain.ask(describe(), timeout=3)).code is grpc.StatusCode.UNAVAILABLE
        assert refusal(server, trustme.CA()) == "UNAVAILABLE"
        assert verdict(server.gateway.ask(describe())) == "miss", "the socket needs none"


def test_where_clients_must_show_a_certificate_others_are_turned_away(secured):
    with served(**secured.settings(client_ca=str(secured.authorities))) as server:
        assert refusal(server, secured.authority) == "UNAVAILABLE"
        stranger = trustme.CA().issue_cert("gateway")
        assert refusal(server, secured.authority, stranger) == "UNAVAILABLE"
        assert ask(server, secured.authority, secured.authority.issue_cert("gateway")) == "miss"


def test_a_renewed_certificate_serves_those_who_connect_from_then_on(secured, caplog):
    caplog.set_level(logging.INFO, "askonce")
    with served(**secured.settings()) as server:
        options = (("grpc.use_local_subchannel_pool", 1),)
        trust = grpc.ssl_channel_credentials(root_certificates=secured.authority.cert_pem.bytes())
        with grpc.secure_channel(server.address, trust, options=options) as channel:
            stub = decision_service_pb2_grpc.DecisionServiceStub(channel)
            stub.Lookup(request(describe()), timeout=10)
            renewed = trustme.CA()
            secured.issue(renewed)
            assert ask(server, renewed) == "miss"
            assert refusal(server, secured.authority) == "UNAVAILABLE"
            stub.Lookup(request(describe()), timeout=10)  # who is connected stays so
        assert caplog.messages.count(f"TLS has a new certificate, from {secured.cert}") == 1


def test_until_new_files_belong_together_the_old_ones_serve(secured, caplog):
    with served(**secured.settings()) as server:
        renewed = trustme.CA()
        before, key = secured.authority, secured.key.read_bytes()
        secured.issue(renewed)
        new_key = secured.key.read_bytes()
        for broken in (key, b"", b"no key", None):
            secured.key.unlink() if broken is None else replace(secured.key, broken)
            for _ in range(3):
                assert ask(server, before) == "miss"
        said = [line for line in caplog.messages if "TLS goes on with the old certificate" in line]
        assert len(said) == 3, "once for each fault, not at each handshake"
        assert "key values mismatch" in said[0]
        assert "no such file or directory" in said[-1]
        replace(secured.key, new_key)
        assert ask(server, renewed) == "miss"


def test_other_authorities_let_in_other_clients(secured):
    with served(**secured.settings(client_ca=str(secured.authorities))) as server:
        others = trustme.CA()
        ours, theirs = secured.authority.issue_cert("gateway"), others.issue_cert("gateway")
        assert ask(server, secured.authority, ours) == "miss"
        assert refusal(server, secured.authority, theirs) == "UNAVAILABLE"
        secured.trust(others)
        assert ask(server, secured.authority, theirs) == "miss"
        assert refusal(server, secured.authority, ours) == "UNAVAILABLE"
        replace(secured.authorities, b"nobody")
        assert ask(server, secured.authority, theirs) == "miss", "nobody new is let in by a broken file"
        assert refusal(server, secured.authority) == "UNAVAILABLE"


def test_files_that_cannot_be_used_are_named(secured):
    def told(**tls) -> str:
        with pytest.raises(ListenError) as caught, served(**tls):
            pass
        return str(caught.value)

    missing = secured.cert.with_name("nothing.pem")
    assert str(missing) in told(**secured.settings(cert=str(missing)))
    said = told(cert=str(secured.key), key=str(secured.key))
    assert f"certificate in {secured.key} and the key in {secured.key} cannot be used together" in said
    said = told(**secured.settings(client_ca=str(secured.key)))
    assert f"no authorities can be read from {secured.key}" in said
    key = serialization.load_pem_private_key(secured.key.read_bytes(), None)
    pem, how = serialization.Encoding.PEM, serialization.BestAvailableEncryption(b"secret")
    replace(secured.key, key.private_bytes(pem, serialization.PrivateFormat.PKCS8, how))
    assert "not PEM, or encrypted" in told(**secured.settings())
