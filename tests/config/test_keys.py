"""Keys that a configuration points at: every form of a good one, and what is said of a bad one."""

import base64

import pytest

from askonce_server.config.keys import KeyFault, key_problems, read_keys
from askonce_server.config.load import load_text

KEY = bytes(range(200, 232))
TEXT = base64.b64encode(KEY).decode()
MEND = "make one with `openssl rand -base64 32`"


def configured(*keys, **rest):
    document = {"store": {"path": "/data", "encryption": {"keys": list(keys), **rest}}}
    return load_text(repr(document).replace("True", "true"), name="a.yaml", environ={})


def read(*keys, environ=None):
    return read_keys(configured(*keys).store.encryption, environ or {})


def problems(*keys, environ=None):
    return [str(one) for one in key_problems(configured(*keys), environ or {}, origin="a.yaml")]


@pytest.fixture
def file(tmp_path):
    """A function `content -> path` of a file with it."""

    def make(content, name="key"):
        path = tmp_path / name
        path.write_bytes(content)
        return str(path)

    return make


@pytest.mark.parametrize(
    "content",
    [
        KEY,
        TEXT.encode(),
        TEXT.encode() + b"\n",
        TEXT.rstrip("=").encode(),
        base64.urlsafe_b64encode(KEY),
        KEY.hex().encode(),
        b" " + KEY.hex().upper().encode() + b"\r\n",
    ],
    ids=["raw", "base64", "newline", "unpadded", "urlsafe", "hex", "spaces"],
)
def test_a_key_is_read_in_every_form(content, file):
    assert read({"key_file": file(content)}) == [KEY]
    if content != KEY:
        assert read({"key_env": "KEY"}, environ={"KEY": content.decode()}) == [KEY]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", f"holds a key of 0 bytes, and AES-256 takes 32: {MEND}"),
        (KEY[:16].hex().encode(), f"holds a key of 16 bytes, and AES-256 takes 32: {MEND}"),
        (base64.b64encode(KEY + b"x"), f"holds a key of 33 bytes, and AES-256 takes 32: {MEND}"),
        (b"correct horse battery staple ok!", f"is neither base64 nor hex of 32 bytes: {MEND}"),
        (KEY + b"\n", f"is neither base64 nor hex of 32 bytes: {MEND}"),
        (bytes(32), f"holds one byte over and over, which is no secret: {MEND}"),
        (b"00" * 32, f"holds one byte over and over, which is no secret: {MEND}"),
    ],
    ids=["empty", "short", "long", "passphrase", "raw and newline", "zeros", "hex zeros"],
)
def test_a_bad_key_is_told_with_path_and_mend(content, said, file):
    path = file(content)
    assert problems({"key_file": path}) == [f"a.yaml: store.encryption.keys[0].key_file: {said}"]
    with pytest.raises(KeyFault, match=r"^store\.encryption\.keys\[0\]\.key_file: "):
        read({"key_file": path})


def test_every_bad_key_is_named_at_once_and_nothing_of_a_key_is_shown(file, tmp_path):
    there, absent = file(KEY), tmp_path / "absent"
    said = problems(
        {"key_file": str(absent)},
        {"key_env": "NOWHERE"},
        {"key_file": there},
        {"key_env": "AGAIN"},
        {"key_file": str(tmp_path)},
        {"key_env": "SHORT"},
        environ={"AGAIN": TEXT, "SHORT": "c2VjcmV0"},
    )
    where = "a.yaml: store.encryption.keys"
    assert said == [
        f"{where}[0].key_file: {absent} cannot be read (no such file or directory): put the key there",
        f"{where}[1].key_env: names the variable NOWHERE, which is not set: set it to the key",
        f"{where}[3].key_env: holds the same key as keys[2]: leave one of them out",
        f"{where}[4].key_file: {tmp_path} cannot be read (is a directory): put the key there",
        f"{where}[5].key_env: holds a key of 6 bytes, and AES-256 takes 32: {MEND}",
    ]
    assert not any(TEXT in line or "c2VjcmV0" in line for line in said)


def test_without_encryption_there_is_nothing_to_say():
    assert key_problems(load_text("store: {path: /data}", name="a.yaml", environ={}), {}) == []


def test_the_variable_of_a_key_may_begin_like_a_setting():
    text = "store: {path: /data, encryption: {keys: [{key_env: ASKONCE_STORE_KEY}]}}"
    config = load_text(text, name="a.yaml", environ={"ASKONCE_STORE_KEY": TEXT})
    assert read_keys(config.store.encryption, {"ASKONCE_STORE_KEY": TEXT}) == [KEY]
