"""An encrypted store on the command line: check, verify, export, import, reencrypt."""

import pytest

from askonce_server.store import open_store
from askonce_server.store.keyring import Keyring
from ports.entries import NOW_MS, body_at, write
from ports.store_process import settings

OLD, NEW = bytes(range(1, 33)), bytes(range(2, 34))
BODY = b"an answer that nobody may find"


@pytest.fixture
def folder(tmp_path):
    """A store with three Stores, encrypted under the old key, closed."""
    (tmp_path / "old").write_text(OLD.hex())
    (tmp_path / "new").write_text(NEW.hex())
    put(tmp_path / "store", OLD, *(write(name, body=BODY, expire_ms=NOW_MS * 2) for name in "abc"))
    return tmp_path / "store"


def put(folder, key, *writes):
    store = open_store(settings(folder, keys=Keyring([key] if key else [])))
    assert store.put(writes) == [None] * len(writes)
    store.close()


def bodies(folder, *keys):
    store = open_store(settings(folder, keys=Keyring(keys)))
    try:
        return [body_at(store, write(name).keys[0]) for name in "abc"]
    finally:
        store.close()


@pytest.fixture
def config(tmp_path):
    """A function `key names -> path` of a configuration with these keys."""

    def make(*names, enabled=True, store="store"):
        keys = ", ".join(f"{{key_file: {tmp_path / name}}}" for name in names)
        encryption = f"encryption: {{keys: [{keys}], enabled: {str(enabled).lower()}}}" if names else ""
        path = tmp_path / "askonce.yaml"
        # Tests read the whole file, which is as large as the store may become.
        path.write_text(f"store:\n  path: {tmp_path / store}\n  max_bytes: 8MiB\n  {encryption}\n")
        return path

    return make


def test_config_check_reads_the_keys(askonce, config, tmp_path):
    (tmp_path / "old").write_text(OLD.hex())
    assert askonce("config", "check", config("old")).code == 0
    (tmp_path / "old").write_text("0123")
    ran = askonce("config", "check", config("old", "absent"))
    assert (ran.code, ran.err) == (1, "2 problems\n")
    at = f"{tmp_path / 'askonce.yaml'}: store.encryption.keys"
    mend = "make one with `openssl rand -base64 32`"
    absent = f"{tmp_path / 'absent'} cannot be read (no such file or directory): put the key there"
    assert ran.out.splitlines() == [
        f"{at}[0].key_file: holds a key of 2 bytes, and AES-256 takes 32: {mend}",
        f"{at}[1].key_file: {absent}",
    ]


@pytest.mark.parametrize("repair", [(), ("--repair",)])
def test_verify_names_the_missing_key_and_changes_nothing(askonce, config, folder, repair):
    ran = askonce("store", "verify", "--config", config("new"), *repair)
    assert ran.code == 1
    assert [line.split(": ")[1] for line in ran.out.splitlines()] == ["key missing"] * 3
    assert ran.err == "3 rows left alone: add the missing key to store.encryption.keys\n"
    ran = askonce("store", "verify", "--config", config("new", "old"), *repair)
    assert (ran.code, ran.out, ran.err) == (0, "", "every row agrees with the others\n")
    assert bodies(folder, OLD) == [BODY] * 3


def test_an_export_is_plain_and_says_so(askonce, config, folder, tmp_path):
    ran = askonce("export", "out.jsonl", "--config", config("old"))
    warning = "warning: the store is encrypted, and the export is not: keep it as safe as the answers\n"
    assert (ran.code, ran.err) == (0, f"exported 3 Stores\n{warning}")
    assert (tmp_path / "out.jsonl").stat().st_mode & 0o777 == 0o600
    ran = askonce("import", "out.jsonl", "--config", config("new", store="other"))
    assert (ran.code, ran.err) == (0, "imported 3 Stores\n")
    assert bodies(tmp_path / "other", NEW) == [BODY] * 3
    assert BODY not in (tmp_path / "other" / "data.mdb").read_bytes()


def test_an_export_without_the_key_is_not_taken_for_whole(askonce, config, folder):
    ran = askonce("export", "out.jsonl", "--config", config("new"))
    said = "exported 0 Stores; 3 under a key that is not among store.encryption.keys\n"
    assert (ran.code, ran.err) == (1, said)


def test_nothing_plain_is_imported_into_an_encrypted_store_by_mistake(askonce, config, folder, tmp_path):
    askonce("export", "out.jsonl", "--config", config("old"))
    ran = askonce("import", "out.jsonl", "--store", folder)
    assert ran.code != 0
    assert "is encrypted, and no key is given" in ran.err


def test_a_key_that_cannot_be_read_is_told_by_every_command(askonce, config, folder, tmp_path):
    where = config("old")
    (tmp_path / "old").unlink()
    for command in (["store", "verify"], ["export", "out.jsonl"], ["store", "reencrypt"]):
        ran = askonce(*command, "--config", where)
        assert ran.code != 0
        assert "store.encryption.keys[0].key_file: " in ran.err


def test_a_rotation_ends_with_reencrypt(askonce, config, folder):
    put(folder, OLD, write("b", body=b"changed", expire_ms=NOW_MS * 2))
    ran = askonce("store", "reencrypt", "--config", config("new", "old"))
    assert (ran.code, ran.err) == (0, "wrote 3 rows encrypted under the first key\n")
    assert bodies(folder, NEW) == [BODY, b"changed", BODY]
    ran = askonce("store", "reencrypt", "--config", config("new"))
    assert (ran.code, ran.err) == (0, "wrote 0 rows encrypted under the first key; 3 were so already\n")


def test_a_rotation_without_the_old_key_says_what_is_left(askonce, config, folder):
    ran = askonce("store", "reencrypt", "--config", config("new"))
    said = "wrote 0 rows encrypted under the first key; 3 left under a key that is not among "
    assert (ran.code, ran.err) == (1, f"{said}store.encryption.keys\n")
    assert bodies(folder, OLD) == [BODY] * 3


def test_encryption_is_turned_off_and_the_key_thrown_away(askonce, config, folder):
    ran = askonce("store", "reencrypt", "--config", config("old", enabled=False))
    assert (ran.code, ran.err) == (0, "wrote 3 rows in plain\n")
    assert bodies(folder) == [BODY] * 3
    assert askonce("store", "verify", "--config", config()).code == 0
