"""Addresses of several workers: nobody else gets in, and clients are led to who serves."""

from __future__ import annotations

import socket
from contextlib import ExitStack, closing

import pytest

from askonce_server.config.address import TcpAddress, UnixAddress
from askonce_server.rpc.sockets import ListenError
from askonce_server.workers.addresses import SharedPort, SocketLink, hold_all
from rpc.harness import free_port, short_folder


@pytest.fixture
def folder():
    with short_folder() as path:
        yield path


def listening(port, *, shared, host="127.0.0.1"):
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    one = socket.socket(family)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, int(shared))
        one.bind((host, port))
        one.listen()
    except BaseException:
        one.close()
        raise
    return closing(one)


def port_of(held):
    return int(held.of(0).rpartition(":")[2])


def test_workers_share_a_port_and_nobody_else_gets_it():
    held = SharedPort(TcpAddress("127.0.0.1", free_port()))
    port = port_of(held)
    for _ in range(2):  # before any worker listens, and while some do
        with pytest.raises(ListenError, match=f"127.0.0.1:{port}: Address already in use"):
            SharedPort(TcpAddress("127.0.0.1", port))
        with pytest.raises(OSError, match="in use"):
            listening(port, shared=False)
        with listening(port, shared=True), listening(port, shared=True):
            with pytest.raises(ListenError, match="in use"):
                SharedPort(TcpAddress("127.0.0.1", port))
            with pytest.raises(OSError, match="in use"):
                listening(port, shared=False)
    held.release()
    SharedPort(TcpAddress("127.0.0.1", port)).release()


def test_a_port_that_somebody_has_is_not_shared():
    port = free_port()
    for shared in (False, True):
        with listening(port, shared=shared), pytest.raises(ListenError, match="in use"):
            SharedPort(TcpAddress("127.0.0.1", port))


def test_no_client_is_taken_in_while_no_worker_listens():
    held = SharedPort(TcpAddress("127.0.0.1", free_port()))
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port_of(held)), timeout=5)
    held.release()


def test_port_0_is_one_port_for_all():
    held = SharedPort(TcpAddress("127.0.0.1", 0))
    assert held.of(0) == held.of(1)
    with listening(port_of(held), shared=True):
        pass
    held.release()


@pytest.mark.parametrize("host", ["localhost", "0.0.0.0"])
def test_every_address_of_a_host_is_held(host):
    held = SharedPort(TcpAddress(host, free_port()))
    with pytest.raises(OSError, match="in use"):
        listening(port_of(held), shared=False)
    held.release()


def test_an_address_of_another_machine_is_named():
    with pytest.raises(ListenError, match=r"cannot listen on 192\.0\.2\.1:5000"):
        SharedPort(TcpAddress("192.0.2.1", 5000))


def test_all_addresses_are_held_or_none(folder):
    port = free_port()
    with listening(port, shared=False), pytest.raises(ListenError, match=str(port)):
        hold_all([UnixAddress(str(folder / "s")), TcpAddress("127.0.0.1", port)], workers=2)
    SocketLink(folder / "s", 2).release()


def server_at(stack, path):
    one = stack.enter_context(socket.socket(socket.AF_UNIX))
    one.bind(f"//{path}")  # as the transport does
    one.listen()
    return one


def client_of(stack, path):
    one = stack.enter_context(socket.socket(socket.AF_UNIX))
    one.connect(str(path))
    return one


def test_clients_are_led_to_the_worker_with_the_fewest_connections(folder):
    path = folder / "s"
    link = SocketLink(path, 2)
    with ExitStack() as stack:
        servers = [server_at(stack, folder / f"s.{number}") for number in (0, 1)]
        reached = []
        for _ in range(6):
            link.point([0, 1])
            client_of(stack, path)
            number = int(path.readlink().name.removeprefix("s."))
            reached.append(number)
            stack.enter_context(servers[number].accept()[0])
        assert sorted(reached) == [0, 0, 0, 1, 1, 1]
        before = path.lstat().st_ino
        link.point([0, 1])
        link.point([0, 1])
        assert path.lstat().st_ino == before, "while nothing changes, nothing is written"
    link.release()


def test_clients_are_led_away_from_a_worker_that_ended(folder):
    path = folder / "s"
    link = SocketLink(path, 3)
    assert (link.of(0), link.of(2)) == (f"unix://{folder}/s.0", f"unix://{folder}/s.2")
    link.point([0, 1, 2])
    assert path.readlink().name == "s.0"
    link.point([2])
    assert path.readlink().name == "s.2"
    link.point([])
    assert not path.is_symlink()
    link.point([1])
    path.unlink()
    link.point([1])
    assert path.readlink().name == "s.1", "a link that somebody removed comes back"
    link.release()
    assert sorted(one.name for one in folder.iterdir()) == ["s.lock"]


def test_a_path_belongs_to_one_server(folder):
    link = SocketLink(folder / "s", 2)
    with pytest.raises(ListenError, match="belongs to a running askonce"):
        SocketLink(folder / "s", 2)
    link.release()


def test_what_a_killed_server_left_is_taken_over(folder):
    """It had more workers."""
    with ExitStack() as stack:
        for number in range(4):
            server_at(stack, folder / f"s.{number}")
    (folder / "s").symlink_to("s.3")
    (folder / "s.3.lock").touch()
    (folder / "s.more").touch()
    link = SocketLink(folder / "s", 2)
    assert sorted(one.name for one in folder.iterdir()) == ["s.0", "s.1", "s.3.lock", "s.lock", "s.more"]
    link.release()


@pytest.mark.parametrize("target", ["elsewhere", "s.x", "../s.1"])
def test_a_link_that_is_not_ours_is_left_alone(folder, target):
    (folder / "s").symlink_to(target)
    with pytest.raises(ListenError, match="no socket"):
        SocketLink(folder / "s", 2)
    assert str((folder / "s").readlink()) == target


def test_a_link_to_somebody_who_listens_is_left_alone(folder):
    with ExitStack() as stack:
        server_at(stack, folder / "s.0")
        (folder / "s").symlink_to("s.0")
        with pytest.raises(ListenError, match="belongs to a running process"):
            SocketLink(folder / "s", 2)
