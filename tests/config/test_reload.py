"""A configuration file is read again when it says something else, and one with mistakes changes nothing."""

import os
from pathlib import Path

import pytest

from askonce_server.config import reload
from askonce_server.config.load import ConfigError, load_text
from askonce_server.config.reload import ConfigFile, fixed_changes

ENVIRON = {"HOME": "/home/ada"}
ONE, TWO = "rules: [{id: one}]\n", "rules: [{id: one}, {id: two}]\n"


@pytest.fixture(autouse=True)
def settled(monkeypatch):
    monkeypatch.setattr(reload, "_SETTLE_SECONDS", 0.01)


def parsed(text):
    return load_text(text, name="askonce.yaml", environ=ENVIRON)


def running(path: Path, text: str = ONE):
    """The file of a server that was started by `text`."""
    path.write_text(text)
    return ConfigFile(path, text=text, config=parsed(text), environ=ENVIRON)


def ids(config):
    return None if config is None else [rule.id for rule in config.rules]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "askonce.yaml"


def test_what_was_read_at_the_start_is_no_news(path):
    file = running(path)
    assert file.look() is None
    assert file.look(at_once=True) is None


def test_a_file_that_says_something_else_is_read_once(path):
    file = running(path)
    path.write_text(TWO)
    assert ids(file.look()) == ["one", "two"]
    assert file.look() is None
    path.write_text(ONE)
    assert ids(file.look()) == ["one"]


def test_what_changed_before_the_first_look_is_read(path):
    """A worker that is started later is told what the first ones were told."""
    path.write_text(TWO)
    file = ConfigFile(path, text=ONE, config=parsed(ONE), environ=ENVIRON)
    assert ids(file.look()) == ["one", "two"]


def test_a_file_that_was_only_touched_is_no_news(path):
    file = running(path)
    os.utime(path, ns=(1, 1))
    assert file.look() is None


def test_mistakes_are_told_once_for_each_change_and_change_nothing(path):
    file = running(path)
    path.write_text("rules: [{id: one, ttl: soon}]\n")
    with pytest.raises(ConfigError, match=r"askonce.yaml:1: rules\[0\].ttl"):
        file.look()
    assert file.look() is None
    with pytest.raises(ConfigError):
        file.look(at_once=True)
    path.write_text(ONE)
    assert file.look() is None, "it says what the server runs by"
    path.write_text(TWO)
    assert ids(file.look()) == ["one", "two"]


@pytest.mark.parametrize("text", ["", "rules: [", "rules: [{id: one}, {id: one}]\n", "rulez: []\n", "\x00"])
def test_no_text_that_is_none_is_taken_over(path, text):
    file = running(path)
    path.write_text(text)
    with pytest.raises(ConfigError):
        file.look()


def test_a_file_that_is_gone_is_told_once_and_may_come_back(path):
    file = running(path)
    assert file.look() is None
    path.unlink()
    with pytest.raises(ConfigError, match="cannot be read"):
        file.look()
    assert file.look() is None
    path.write_text(TWO)
    assert ids(file.look()) == ["one", "two"]


def test_a_folder_that_kubernetes_exchanges_is_a_change(tmp_path):
    """A ConfigMap is a link to `..data/askonce.yaml`, and `..data` a link to a folder that is replaced."""
    for name, text in (("..1", ONE), ("..2", TWO)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "askonce.yaml").write_text(text)
        os.utime(tmp_path / name / "askonce.yaml", ns=(1, 1))
    (tmp_path / "..data").symlink_to("..1")
    (tmp_path / "askonce.yaml").symlink_to("..data/askonce.yaml")
    file = ConfigFile(tmp_path / "askonce.yaml", text=ONE, config=parsed(ONE), environ=ENVIRON)
    assert file.look() is None
    (tmp_path / "..data_tmp").symlink_to("..2")
    (tmp_path / "..data_tmp").replace(tmp_path / "..data")
    assert ids(file.look()) == ["one", "two"]


def test_a_file_that_is_being_written_is_left_alone_until_it_is_done(path, monkeypatch):
    file = running(path)
    assert file.look() is None
    path.write_text("rules: [{id: one}]\n# and")
    monkeypatch.setattr(reload.time, "sleep", lambda _: path.write_text(TWO))
    assert file.look() is None
    monkeypatch.setattr(reload.time, "sleep", lambda _: None)
    assert ids(file.look()) == ["one", "two"]


def test_the_environment_counts_as_it_did(path):
    environ = {**ENVIRON, "ASKONCE_THREADS": "7"}
    path.write_text(TWO)
    file = ConfigFile(path, text=ONE, config=parsed(ONE), environ=environ)
    assert file.look().threads == 7


def test_what_takes_a_start_is_named():
    before = parsed(ONE)
    assert fixed_changes(before, parsed(TWO)) == []
    after = parsed(TWO + "threads: 3\nstore: {max_bytes: 1GiB}\nlisten: 127.0.0.1:7\n")
    assert fixed_changes(before, after) == ["listen", "threads", "store"]
