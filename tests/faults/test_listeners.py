"""Addresses: a second server is refused by name, a dead one's socket is taken over."""

from __future__ import annotations

import errno
import os
import socket
import stat
import threading
from contextlib import ExitStack, suppress
from pathlib import Path
from urllib.parse import quote

import grpc
import pytest

from askonce_server.rpc.listen import ListenError, bind
from askonce_server.rpc.sockets import lock_path
from faults.sidecar_process import SidecarProcess
from rpc.harness import Gateway, Place, Running
from rpc.replies import refused, verdict
from rpc.requests import describe


def open_files() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def listening(place: Place, *, store: str) -> Place:
    """A second sidecar that wants the address of `place` and has a store of its own."""
    return Place(
        place.folder,
        store={"path": str(place.folder / store), "max_bytes": "64MiB"},
        admin=None,
        listen=[place.unix],
    )


def test_a_second_server_on_one_socket_is_refused_by_name(folder):
    first = Running(Place(folder))
    with pytest.raises(ListenError) as caught:
        Running(listening(first.place, store="second"))
    assert f"unix://{folder}/s" in str(caught.value)
    assert f"process {os.getpid()}" in str(caught.value)
    assert verdict(first.gateway.ask(describe())) == "miss"
    with Gateway(f"unix://{folder}/s") as anew:
        assert verdict(anew.ask(describe())) == "miss", "the socket is still the first one's"
    first.stop()
    second = Running(listening(first.place, store="second"))
    second.stop()


def test_a_second_process_on_one_socket_says_so_and_ends(forked, folder):
    place = Place(folder)
    with forked.sidecar(place) as first:
        gateway = first.wait_until_serving()
        other = SidecarProcess(listening(place, store="second"))
        assert other.process.wait(timeout=60) == 1
        said = other.log.read_text()
        assert f"unix://{folder}/s belongs to a running askonce (process {first.pid})" in said
        assert "Traceback" not in said
        assert verdict(gateway.ask(describe())) == "miss"
        gateway.close()


def test_a_second_process_on_one_store_says_so(forked, folder):
    place = Place(folder)
    (folder / "b").mkdir()
    other = Place(folder / "b", store={"path": str(place.store), "max_bytes": "64MiB"})
    with ExitStack() as stack:
        first = stack.enter_context(forked.sidecar(place))
        first.wait_until_serving().close()
        second = stack.enter_context(forked.sidecar(other))
        gateway = second.wait_until_serving()
        assert gateway.serving("askonce.store") == "NOT_SERVING"
        assert verdict(gateway.ask(describe())) == "bypass store_failed"
        said = second.log.read_text()
        assert f"the store at {place.store} is in use by process {first.pid}" in said
        gateway.close()


def test_a_second_server_on_one_port_is_refused_by_name(start, folder):
    first = start(folder)
    (folder / "b").mkdir()
    place = Place(folder / "b", listen=[first.place.tcp])
    with pytest.raises(ListenError, match=first.place.tcp):
        Running(place)
    with Gateway(first.place.tcp) as over_tcp:
        assert verdict(over_tcp.ask(describe())) == "miss"


def test_a_server_that_cannot_listen_leaves_nothing_behind(start, folder):
    """It had its store and its socket before the port failed: both are free again."""
    first = start(folder)
    (folder / "b").mkdir()
    place = Place(folder / "b", listen=[f"unix://{folder}/b/s", first.place.tcp])
    before = open_files()
    for _ in range(3):
        with pytest.raises(ListenError):
            Running(place)
    assert open_files() <= before + 2
    assert not (folder / "b" / "s").exists()
    second = start(folder / "b")
    assert second.gateway.serving("askonce.store") == "SERVING"
    assert verdict(second.gateway.ask(describe())) == "miss"


def stale_socket(path) -> None:
    with socket.socket(socket.AF_UNIX) as left:
        left.bind(str(path))
        left.listen()


def test_the_socket_of_a_server_that_is_gone_is_taken_over(start, folder):
    stale_socket(folder / "s")
    stale_socket(folder / "a")
    server = start(folder)
    assert verdict(server.gateway.ask(describe())) == "miss"


def test_the_socket_of_a_killed_server_is_taken_over(forked, folder):
    place = Place(folder)
    with forked.sidecar(place) as first:
        first.wait_until_serving().close()
        first.kill()
    assert (folder / "s").exists()
    with forked.sidecar(place) as second:
        gateway = second.wait_until_serving()
        assert verdict(gateway.ask(describe())) == "miss"
        gateway.close()


@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_what_is_no_socket_is_left_alone(folder, kind):
    path = folder / "s"
    if kind == "file":
        path.write_text("mine")
    elif kind == "folder":
        path.mkdir()
    else:
        (folder / "elsewhere").write_text("mine")
        path.symlink_to(folder / "elsewhere")
    before = open_files()
    for _ in range(5):
        with pytest.raises(ListenError, match="no socket"):
            Running(Place(folder))
    assert open_files() <= before + 2, "a lock that is not needed is let go"
    assert path.is_symlink() or path.is_dir() or path.read_text() == "mine"


@pytest.mark.parametrize("kind", ["idle", "busy", "datagrams"])
def test_the_socket_of_another_program_is_left_alone(folder, kind):
    with ExitStack() as stack:
        shape = socket.SOCK_DGRAM if kind == "datagrams" else socket.SOCK_STREAM
        other = stack.enter_context(socket.socket(socket.AF_UNIX, shape))
        other.bind(str(folder / "s"))
        if kind != "datagrams":
            other.listen(0 if kind == "busy" else 8)
        while kind == "busy":  # until nobody else can be taken in
            caller = stack.enter_context(socket.socket(socket.AF_UNIX))
            caller.setblocking(False)
            try:
                caller.connect(str(folder / "s"))
            except BlockingIOError:
                break
        with pytest.raises(ListenError, match="belongs to a running process"):
            Running(Place(folder))
        with socket.socket(socket.AF_UNIX, shape) as caller:
            caller.setblocking(False)
            with suppress(BlockingIOError):
                caller.connect(str(folder / "s"))


def test_a_lock_that_somebody_removed_does_not_let_a_second_server_in(start, folder):
    first = start(folder)
    (folder / "s.lock").unlink()
    with pytest.raises(ListenError, match="belongs to a running process"):
        Running(listening(first.place, store="second"))
    assert verdict(first.gateway.ask(describe())) == "miss"


def test_a_folder_where_no_socket_can_be_made_is_named(folder):
    (folder / "file").write_text("")
    with pytest.raises(ListenError, match=f"cannot listen on unix://{folder}/file/s"):
        Running(Place(folder, listen=[f"unix://{folder}/file/s"]))


@pytest.mark.parametrize("outcome", [0, RuntimeError("Failed to bind to address")], ids=repr)
def test_a_socket_that_the_transport_does_not_make_says_where_to_look(folder, outcome):
    class Server:
        def add_insecure_port(self, _address):
            if isinstance(outcome, Exception):
                raise outcome
            return outcome

    with pytest.raises(ListenError, match="see that its folder is there and this user may write in it"):
        bind(Server(), f"unix://{folder}/s")


def test_a_disk_without_room_for_a_name_keeps_no_server_from_its_socket(folder, monkeypatch):
    def full(_descriptor, _data):
        raise OSError(errno.ENOSPC, "No space left on device")

    path = folder / "full"
    with monkeypatch.context() as patch:
        patch.setattr("askonce_server.rpc.sockets.os.write", full)
        first = lock_path(path)
    with pytest.raises(ListenError, match="process unknown"):
        lock_path(path)
    os.close(first)
    os.close(lock_path(path))


def test_a_socket_has_mode_0660_and_never_a_wider_one(folder):
    seen: set[int] = set()
    done = threading.Event()

    def watch() -> None:
        while not done.is_set():
            for name in ("s", "a"):
                try:
                    seen.add(stat.S_IMODE((folder / name).lstat().st_mode))
                except FileNotFoundError:
                    continue

    before = os.umask(0)
    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        for _ in range(8):
            server = Running(Place(folder))
            assert stat.S_IMODE((folder / "s").lstat().st_mode) == 0o660
            server.stop()
        assert os.umask(0) == 0, "the umask of the process is as it was"
    finally:
        done.set()
        watcher.join()
        os.umask(before)
    assert seen == {0o660}


@pytest.mark.parametrize("name", ["with space", "per%20cent", "a?b", "a#b", "é", "a&b=c"], ids=ascii)
def test_any_name_of_a_socket_will_do(start, folder, name):
    server = start(folder, listen=[f"unix://{folder}/{name}"])
    assert stat.S_ISSOCK((folder / name).lstat().st_mode)
    with Gateway(f"unix://{quote(f'{folder}/{name}')}") as client:
        assert verdict(client.ask(describe())) == "miss"
    server.stop()
    assert not (folder / name).exists()


def test_a_stopped_server_has_gone_from_its_addresses(folder):
    server = Running(Place(folder))
    tcp = server.place.tcp
    server.stop()
    assert not (folder / "s").exists()
    assert not (folder / "a").exists()
    for address in (f"unix://{folder}/s", tcp):
        with Gateway(address) as client:
            refusal = refused(lambda client=client: client.ask(describe(), timeout=2))
            assert refusal.code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED)


def test_starting_and_stopping_leaves_no_threads_and_no_files(folder):
    def cycle() -> None:
        server = Running(Place(folder))
        server.gateway.fill(describe("t"))
        server.gateway.ask(describe("t"))
        server.stop()
        (folder / "store" / "data.mdb").unlink()

    cycle()
    files, threads = open_files(), threading.active_count()
    for _ in range(5):
        cycle()
    assert open_files() <= files + 2
    assert threading.active_count() <= threads + 2
