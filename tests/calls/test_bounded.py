"""A service that drips is heard no longer than the time that a call may take."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from askonce_server.calls.bounded import BoundedReader
from askonce_server.calls.errors import CallFailed
from askonce_server.calls.post import Post, PostLimits
from askonce_server.ports import OverBudget


@pytest.fixture
def pair():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_each_read_has_what_is_left(pair, monkeypatch):
    ours, theirs = pair
    given = []
    monkeypatch.setattr(time, "monotonic", lambda: 100.0 + 3 * len(given))
    reader = BoundedReader(ours, until=109.0)
    buffer = bytearray(1)
    for _ in range(3):
        theirs.send(b"x")
        assert reader.readinto(buffer) == 1
        given.append(ours.gettimeout())
    assert given == [9, 6, 3]
    theirs.send(b"x")
    with pytest.raises(TimeoutError):
        reader.readinto(buffer)


def test_a_connection_stays_open_as_long_as_what_reads_it(pair):
    ours, theirs = pair
    reader = BoundedReader(ours, until=time.monotonic() + 30)
    ours.close()
    theirs.send(b"x")
    assert reader.readinto(bytearray(1)) == 1
    reader.close()
    assert theirs.recv(1) == b""


def drip(listener, begins, stop):
    """Begin an answer, and go on with it one byte at a time."""
    connection, _ = listener.accept()
    with connection:
        connection.recv(65536)
        connection.sendall(begins)
        while not stop.wait(0.05):
            try:
                connection.sendall(b"x")
            except OSError:
                return


@pytest.mark.parametrize(
    "begins", [b"HTTP", b"HTTP/1.1 200 OK\r\nX-Long: ", b"HTTP/1.1 200 OK\r\nContent-Length: 10000\r\n\r\n"]
)
@pytest.mark.parametrize(("timeout", "given", "error"), [(0.5, 60, CallFailed), (60, 0.5, OverBudget)])
def test_an_answer_that_drips_ends_the_call_in_time(begins, timeout, given, error):
    limits = PostLimits(timeout_seconds=timeout, retries=0, connections=1, most_bytes=1 << 20)
    stop = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        service = threading.Thread(target=drip, args=(listener, begins, stop))
        service.start()
        post = Post(f"http://127.0.0.1:{listener.getsockname()[1]}/", headers={}, limits=limits)
        began = time.monotonic()
        try:
            with pytest.raises(error):
                post(b"{}", deadline=began + given)
            assert time.monotonic() - began < 20, "a header that drips would take a minute and more"
        finally:
            stop.set()
            post.close()
            service.join()
