"""The data file of a store that is closed: what it holds, and how much of it is in use."""

import sys

from askonce_server.store import open_store
from ports.entries import write
from ports.store_process import body_of, settings


def filled(folder, count=200):
    """A closed store with entries `q-0` …, and the path of its data file."""
    store = open_store(settings(folder))
    for i in range(0, count, 50):
        store.put([write(f"q-{n}", body=body_of("q", n)) for n in range(i, i + 50)])
    store.close()
    return folder / "data.mdb"


def pages_in_use(data_file):
    with data_file.open("rb") as file:
        return 1 + max(int.from_bytes(file.read(4096)[136:144], sys.byteorder) for _ in range(2))


def content(data_file):
    """The bytes of the pages in use; the rest of the file is a hole."""
    with data_file.open("rb") as file:
        return file.read(pages_in_use(data_file) * 4096)
