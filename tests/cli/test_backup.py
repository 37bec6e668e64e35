"""`askonce export`, `import`, `store verify` and `store compact`, as they are typed."""

import io
import json
import os
import random
import re
import subprocess
import sys

import lmdb
import pytest

from askonce_server.cli import backup_files
from askonce_server.store import open_store
from ports.entries import NOW_MS, body_at, digest, write
from ports.store_process import settings
from ports.test_lmdb_export import raised
from ports.test_lmdb_verification import change, flip

LATER = {"expire_ms": NOW_MS * 2}
"""Long after these tests."""


def stored(name, **changes):
    return write(name, **{**LATER, **changes})


@pytest.fixture
def folder(tmp_path):
    """A store with three Stores, closed."""
    store = open_store(settings(tmp_path / "store"))
    store.put([stored("a"), stored("b", body=bytes(range(256))), stored("c", scope="globex")])
    store.close()
    return tmp_path / "store"


@pytest.fixture
def new(tmp_path):
    return tmp_path / "new"


def bodies(folder, *names):
    store = open_store(settings(folder))
    try:
        return [body_at(store, write(name).keys[0]) for name in names]
    finally:
        store.close()


def test_a_store_goes_through_a_file_of_its_owner_alone(askonce, folder, new, tmp_path):
    ran = askonce("export", "backup.jsonl", "--store", folder)
    assert (ran.code, ran.out, ran.err) == (0, "", "exported 3 Stores\n")
    file = tmp_path / "backup.jsonl"
    assert file.stat().st_mode & 0o777 == 0o600
    assert len(file.read_text().splitlines()) == 5
    ran = askonce("import", "backup.jsonl", "--store", new)
    assert (ran.code, ran.out, ran.err) == (0, "", "imported 3 Stores\n")
    assert bodies(new, "a", "b") == [b"answer to a", bytes(range(256))]
    ran = askonce("import", "backup.jsonl", "--store", new)
    assert (ran.code, ran.err) == (
        0,
        "imported 0 Stores; 3 there already, or replaced by a newer answer\n",
    )


def test_a_store_goes_through_a_pipe(askonce, folder, new):
    ran = askonce("export", "-", "--store", folder)
    assert (ran.code, ran.err) == (0, "exported 3 Stores\n")
    ran = askonce("import", "-", "--store", new, stdin=ran.raw)
    assert (ran.code, ran.out, ran.err) == (0, "", "imported 3 Stores\n")
    assert bodies(new, "a") == [b"answer to a"]


def test_the_configuration_says_where_the_store_is(askonce, folder, tmp_path):
    (tmp_path / "askonce.yaml").write_text(f"store: {{path: {folder}}}\n")
    assert askonce("export", "-", "--config", "askonce.yaml").err == "exported 3 Stores\n"
    (tmp_path / "memory.yaml").write_text("store: {engine: memory}\n")
    ran = askonce("export", "-", "--config", "memory.yaml")
    assert (ran.code, ran.err) == (
        1,
        "askonce: store.engine is memory: what it keeps ends with the server\n",
    )
    (tmp_path / "bad.yaml").write_text("stor: {}\n")
    assert "stor" in askonce("export", "-", "--config", "bad.yaml").err


@pytest.mark.parametrize("command", [("export", "-"), ("store verify",), ("store compact",)])
def test_without_a_store_there_is_one_line_and_no_store_is_made(askonce, new, command):
    ran = askonce(*" ".join(command).split(), "--store", new)
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == f"askonce: there is no store at {new}: name its folder\n"
    assert not new.exists()


@pytest.mark.parametrize("command", ["export out.jsonl", "import in.jsonl", "store verify", "store compact"])
def test_a_store_that_a_server_has_open_is_refused_with_the_name_of_its_process(
    askonce, folder, tmp_path, command
):
    askonce("export", "in.jsonl", "--store", folder)
    store = open_store(settings(folder))
    ran = askonce(*command.split(), "--store", folder)
    store.close()
    assert (ran.code, ran.out) == (1, "")
    assert ran.err.startswith(f"askonce: the store at {folder} is in use by process {os.getpid()}: stop that")
    assert not (tmp_path / "out.jsonl").exists()


def test_an_export_that_fails_leaves_the_last_one_and_nothing_else(askonce, folder, tmp_path, monkeypatch):
    (tmp_path / "backup.jsonl").write_text("the last one")

    def torn(config, write, tell):
        write(b"half")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup_files.upkeep, "export_store", torn)
    ran = askonce("export", "backup.jsonl", "--store", folder)
    assert (ran.code, ran.err) == (1, "askonce: cannot write backup.jsonl: No space left on device\n")
    assert (tmp_path / "backup.jsonl").read_text() == "the last one"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["backup.jsonl"]


@pytest.mark.parametrize(
    ("command", "line"),
    [
        (["export", "no/such/folder/x"], "cannot write no/such/folder/x: No such file or directory"),
        (["import", "none.jsonl"], "cannot read none.jsonl: No such file or directory"),
        (["import", "text"], "text cannot be imported: its first line is not that of an export"),
        (["import", "-"], "the standard input cannot be imported: it is empty"),
    ],
)
def test_files_that_are_none_are_one_line(askonce, folder, tmp_path, command, line):
    (tmp_path / "text").write_text("hello\n")
    ran = askonce(*command, "--store", folder)
    assert ran.code == 1
    assert ran.err.startswith(f"askonce: {line}")
    assert ran.err.count("\n") == 1


def test_damaged_lines_are_named_and_strict_stops(askonce, folder, new, tmp_path):
    askonce("export", "backup.jsonl", "--store", folder)
    file = tmp_path / "backup.jsonl"
    lines = file.read_bytes().splitlines(keepends=True)
    file.write_bytes(b"".join([*lines[:2], lines[2][:40] + b"\n", *lines[3:]]))
    ran = askonce("import", "backup.jsonl", "--store", new, "--strict")
    damage = "it is not a JSON document, or was cut short"
    assert (ran.code, ran.err) == (1, f"askonce: backup.jsonl: line 3 is damaged: {damage}\n")
    assert bodies(new, "a", "b") == [b"answer to a", None]
    ran = askonce("import", "backup.jsonl", "--store", new)
    assert ran.code == 1
    assert ran.err.splitlines() == [
        f"backup.jsonl:3: damaged: {damage}",
        "imported 1 Store; 1 there already, or replaced by a newer answer; 1 damaged",
    ]


def test_what_was_purged_is_named_up_to_twenty_or_all(askonce, new, tmp_path):
    old = tmp_path / "old"
    store = open_store(settings(old))
    store.put([stored(f"q{n}", generations=raised(value=bytes(16))) for n in range(25)])
    store.close()
    askonce("export", "backup.jsonl", "--store", old)
    store = open_store(settings(new))
    store.raise_generations({digest("generation", "acme"): bytes(15) + b"\1"}, at_ms=NOW_MS)
    store.close()
    ran = askonce("import", "backup.jsonl", "--store", new)
    lines = ran.err.splitlines()
    assert ran.code == 0
    assert len(lines) == 22
    assert re.fullmatch(r"backup.jsonl:2: of other generations, .*: [0-9a-f]{7}, [0-9a-f]{7}", lines[0])
    assert "5 more of other generations" in lines[20]
    assert lines[21].startswith("imported 0 Stores; 25 of other generations")
    assert len(askonce("import", "backup.jsonl", "--store", new, "--name-all").err.splitlines()) == 26


def test_a_sound_store_is_sound(askonce, folder):
    ran = askonce("store", "verify", "--store", folder)
    assert (ran.code, ran.out, ran.err) == (0, "", "every row agrees with the others\n")


def test_rows_that_do_not_agree_are_named_and_mended(askonce, folder):
    change(folder, "scopes", flip())
    ran = askonce("store", "verify", "--store", folder)
    assert ran.code == 1
    assert re.fullmatch(r"scopes [0-9a-f]{64}: the scope's row is damaged\n", ran.out)
    assert ran.err == "1 row do not agree with the others: --repair mends them\n"
    ran = askonce("store", "verify", "--store", folder, "--repair")
    assert (ran.code, ran.err) == (0, "1 row mended\n")
    assert askonce("store", "verify", "--store", folder).code == 0


def test_compacting_says_what_it_gave_back(askonce, folder):
    store = open_store(settings(folder))
    big = [stored(f"big{n}", body=random.Random(n).randbytes(300_000)) for n in range(20)]
    for one in big:
        store.put([one])
    store.remove([key for one in big for key in one.keys])
    store.close()
    ran = askonce("store", "compact", "--store", folder)
    assert ran.code == 0
    assert re.fullmatch(r"the store took \d+KiB, and takes \d{2}KiB now\n", ran.err)
    assert bodies(folder, "a") == [b"answer to a"]


def test_store_by_itself_still_files_an_answer(askonce):
    assert "Missing option '--body'" in askonce("store", "x").err
    assert "File an answer" in askonce("store", "--help").out


@pytest.mark.parametrize("schema", [2, 7])
def test_a_store_of_a_newer_version_is_never_touched(askonce, folder, monkeypatch, schema):
    monkeypatch.setenv("ASKONCE_STORE_MAX_BYTES", "8MiB")  # the file, which is read here, is as large as that
    askonce("export", "backup.jsonl", "--store", folder)
    env = lmdb.open(str(folder), max_dbs=32, map_size=1 << 27)
    with env.begin(write=True) as txn:
        txn.put(b"schema", schema.to_bytes(4, "big"), db=env.open_db(b"meta", txn=txn))
    env.close()
    before = (folder / "data.mdb").read_bytes()
    for command in ("export out.jsonl", "import backup.jsonl", "store verify --repair", "store compact"):
        ran = askonce(*command.split(), "--store", folder)
        assert (ran.code, ran.out) == (1, "")
        assert f"has layout {schema} and this server reads up to 1: a newer version wrote it" in ran.err
    assert (folder / "data.mdb").read_bytes() == before


def test_a_terminal_sees_a_bar_and_nobody_else(folder, tmp_path, monkeypatch):
    import pty  # noqa: PLC0415 - of this test alone

    ours, theirs = pty.openpty()
    line = [sys.executable, "-m", "askonce_server", "export", str(tmp_path / "x"), "--store", str(folder)]
    environ = {**os.environ, "TERM": "xterm"}
    subprocess.run(line, stderr=theirs, stdout=subprocess.DEVNULL, check=True, timeout=60, env=environ)
    os.close(theirs)
    said = io.BytesIO()
    while True:
        try:
            piece = os.read(ours, 4096)
        except OSError:  # the other side is closed
            break
        if not piece:
            break
        said.write(piece)
    os.close(ours)
    assert b"exporting" in said.getvalue()
    assert b"exported 3 Stores" in said.getvalue()
    assert json.loads((tmp_path / "x").read_text().splitlines()[0])["type"] == "export"
