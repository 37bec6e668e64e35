from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import pytest

from faults.sidecar_process import Forked, small_disk
from rpc.harness import Running, running, short_folder


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose sockets have short paths."""
    with short_folder() as path:
        yield path


@pytest.fixture
def start() -> Iterator[Callable[..., Running]]:
    """Start sidecars in this process; they stop with the test."""
    with ExitStack() as stack:

        def begin(folder: Path | None = None, **settings: Any) -> Running:
            where = folder if folder is not None else stack.enter_context(short_folder())
            return stack.enter_context(running(where, **settings))

        yield begin


@pytest.fixture(scope="session")
def forked() -> Iterator[Forked]:
    """What starts sidecar processes at once."""
    with closing(Forked()) as started:
        yield started


@pytest.fixture
def disk(folder: Path) -> Iterator[Callable[[str], Path]]:
    """Mount disks of a given size; skips, saying so, where that is not allowed."""
    if os.geteuid() != 0:
        pytest.skip("mounting a small disk needs root")
    with ExitStack() as stack:

        def mount(size: str) -> Path:
            try:
                return stack.enter_context(small_disk(folder / "disk", size))
            except subprocess.CalledProcessError:
                pytest.skip("mounting a small disk is not allowed here")

        yield mount
