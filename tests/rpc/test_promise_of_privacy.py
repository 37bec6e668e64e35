"""The promise to store less: nothing that was said is at rest or in logs, save the answer itself."""

from __future__ import annotations

import json
import logging
from pathlib import Path

from rpc.harness import Place, Running, short_folder
from rpc.marked import MARKS, torture, use_everything


def test_promise_7_nothing_is_stored_but_the_answer(tmp_path):
    """No prompt text and no raw scope value at rest: neither as text nor in the usual disguises."""
    with short_folder() as folder:
        server = Running(Place(folder))
        use_everything(server.gateway)
        server.stop()
        files = [path for path in (folder / "store").rglob("*") if path.is_file()]
        stored = b"".join(_beginning(path) for path in files)
    assert b"the-answer-itself" in stored
    for name, mark in MARKS.items():
        for disguise in (mark, mark.upper(), mark.encode().hex(), json.dumps(mark)[1:-1]):
            assert disguise.encode() not in stored, name
        assert mark.encode("utf-16-le") not in stored, name


def _beginning(path: Path) -> bytes:
    with path.open("rb") as file:  # what is used of the file; the rest of it is a hole
        return file.read(4 << 20)


def test_promise_7_nothing_is_logged_that_was_said(start, caplog, capfd, monkeypatch):
    """Not under a torture of bad input, and not where something inside fails with the text in its hands."""
    caplog.set_level(logging.DEBUG)
    server = start()
    use_everything(server.gateway)
    torture(server.gateway)

    def fail(*_args, **_changes):
        raise RuntimeError(MARKS["prompt"])

    for name in ("read", "put"):
        with monkeypatch.context() as patch:
            patch.setattr(server.sidecar.store, name, fail)
            torture(server.gateway)
    told = caplog.text + "".join(capfd.readouterr())
    assert "askonce.faults" in told, "there was something to log"
    for name, mark in MARKS.items():
        assert mark not in told, name
        assert mark.encode().hex() not in told, name
