"""FAISS, imported when it is first needed, and held to one thread."""

from __future__ import annotations

import os
import threading
from functools import cache
from importlib import import_module
from typing import Any

_here = threading.local()


def faiss() -> Any:
    """Return the library, for use in this thread.

    On a core that others use too, a second thread makes a search of 0.8 ms one of 20 ms: the two wait for
    each other in a loop. The bound is a setting of each calling thread.
    """
    library = _imported()
    if not getattr(_here, "bounded", False):
        library.omp_set_num_threads(1)
        _here.bounded = True
    return library


@cache
def _imported() -> Any:
    os.environ["OMP_NUM_THREADS"] = "1"  # read when the library is loaded
    return import_module("faiss")
