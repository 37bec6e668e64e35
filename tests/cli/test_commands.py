"""The commands that talk to no server, and how the command line words its errors."""

import json
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from types import ModuleType

import pytest
import trustme
import typer.main

from askonce_server.cli.root import app
from askonce_server.config.document import document

BAD = Path(__file__).parents[1] / "config" / "bad"
GOOD = Path(__file__).parents[1] / "config" / "good"


def commands(group, path=()):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield (*path, name)


@pytest.mark.parametrize("command", list(commands(typer.main.get_command(app))), ids=" ".join)
def test_the_help_of_every_command_has_an_example(askonce, command):
    ran = askonce(*command, "--help")
    assert ran.code == 0
    assert "Example" in ran.out
    assert f"askonce {' '.join(command)}" in ran.out.split("Example")[1]


def test_a_command_pays_for_nothing_that_another_one_needs():
    heavy = ["grpc", "google.protobuf", "lmdb", "numpy", "orjson", "pydantic", "yaml"]
    script = f"import sys, askonce_server.cli.root; print([m for m in {heavy} if m in sys.modules])"
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"


def test_a_bare_call_lists_the_commands(askonce):
    ran = askonce()
    assert ran.code == 0
    for name in ("serve", "lookup", "store", "healthcheck", "config", "version"):
        assert name in ran.out


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["lookp"], "askonce: No such command 'lookp'. Did you mean 'lookup'? (see askonce --help)"),
        (["lookup", "--foo"], "askonce: No such option: --foo (see askonce lookup --help)"),
        (["store", "x"], "askonce: Missing option '--body' (see askonce store --help)"),
        (
            ["config", "chck"],
            "askonce: No such command 'chck'. Did you mean 'check'? (see askonce config --help)",
        ),
        (["store", "--body", "b"], "askonce: store needs a request or --fill-token-file, and not both"),
        (["lookup", "-", "--scope", "acme"], "askonce: --scope takes name=value, not 'acme'"),
        (["lookup", "-", "--scope", "a=1", "--scope", "a=2"], "askonce: --scope names 'a' twice"),
        (
            ["lookup", "-", "--ttl", "5"],
            "askonce: --ttl needs a unit: did you mean 5s? Units are d, h, m, s and ms",
        ),
        (
            ["lookup", "-", "--timeout", "x"],
            "askonce: --timeout must be a number with a unit, such as 15m, 35ms or 1h30m",
        ),
        (
            ["store", "-", "--body", "-"],
            "askonce: only one of the request, --fill-token-file and --body can be the standard input",
        ),
    ],
)
def test_misuse_is_one_line_and_exit_code_2(askonce, arguments, line):
    ran = askonce(*arguments)
    assert (ran.code, ran.out, ran.err) == (2, "", line + "\n")


def test_version_and_key_schema(askonce):
    line = f"askonce {version('askonce-server')} (key schema askonce/1)\n"
    assert askonce("version").out == line
    assert askonce("--version").out == line
    ran = askonce("version", "--json")
    assert json.loads(ran.out) == {"version": version("askonce-server"), "key_schema": "askonce/1"}


class TestConfigCheck:
    def test_every_mistake_is_a_line_on_standard_output(self, askonce):
        ran = askonce("config", "check", BAD / "many_at_once.yaml")
        expected = (BAD / "many_at_once.txt").read_text()
        assert ran.code == 1
        assert ran.out.replace(f"{BAD}/", "") == expected
        assert ran.err == f"{len(expected.splitlines())} problems\n"

    def test_a_missing_file_is_one_line(self, askonce):
        ran = askonce("config", "check", "none.yaml")
        assert (ran.code, ran.out) == (1, "none.yaml: cannot be read: No such file or directory\n")

    def test_a_good_file_shows_its_rules_and_notes(self, askonce, tmp_path):
        authority = trustme.CA()
        issued = authority.issue_cert("localhost")
        issued.cert_chain_pems[0].write_to_path(tmp_path / "tls.crt")
        issued.private_key_pem.write_to_path(tmp_path / "tls.key")
        authority.cert_pem.write_to_path(tmp_path / "ca.crt")
        file = tmp_path / "askonce.yaml"
        file.write_text((GOOD / "everything.yaml").read_text().replace("/etc/askonce", str(tmp_path)))
        ran = askonce("config", "check", file)
        assert (ran.code, ran.err) == (0, "")
        lines = ran.out.splitlines()
        assert lines[0].split() == ["rule", "matches", "mode", "strategy", "scope", "ttl"]
        assert lines[1].split() == [
            "chat-hybrid",
            "endpoint=chat|messages",
            "shadow",
            "exact,",
            "normalized,",
            "semantic",
            "tenant,",
            "user",
            "15m",
        ]
        assert "listens for operators on unix:///run/askonce-admin/admin.sock" in lines
        assert "keeps up to 2GB in memory" in lines
        assert "note: rules[1].scope: is empty: everybody shares the answers of this rule" in lines

    def test_certificates_that_cannot_be_used_are_named_with_the_mend(self, askonce, tmp_path):
        cert, key, absent = (tmp_path / name for name in ("cert.pem", "key.pem", "absent.pem"))
        trustme.CA().issue_cert("a").cert_chain_pems[0].write_to_path(cert)
        trustme.CA().issue_cert("b").private_key_pem.write_to_path(key)
        tls = f"tls: {{cert: {cert}, key: {key}, client_ca: {absent}}}"
        admin = f"admin: {{listen: unix:///a.sock, tls: {{cert: {absent}, key: {key}, client_ca: {key}}}}}"
        file = tmp_path / "askonce.yaml"
        file.write_text(f"listen: 0.0.0.0:50051\n{tls}\n{admin}\n")
        ran = askonce("config", "check", file)
        missing = f"{absent} cannot be read (no such file or directory): put it there, readable to the server"
        pair = f"the certificate in {cert} and the key in {key} cannot be used together (key values mismatch)"
        mend = "give a certificate with its own key, both in PEM, the key without a password"
        nobody = f"no authorities can be read from {key} (no certificate or crl found)"
        assert ran.out.splitlines() == [
            f"{file}: tls.client_ca: {missing}",
            f"{file}: tls.key: {pair}: {mend}",
            f"{file}: admin.tls.cert: {missing}",
            f"{file}: admin.tls.client_ca: {nobody}: put their certificates there, in PEM",
        ]
        assert (ran.code, ran.err) == (1, "4 problems\n")

    def test_without_a_file_the_default_and_the_environment_count(self, askonce, monkeypatch, tmp_path):
        assert f"keeps up to 2GiB in {tmp_path}/.local/state/askonce" in askonce("config", "check").out
        monkeypatch.setenv("ASKONCE_THREADS", "none")
        ran = askonce("config", "check")
        assert (ran.code, ran.out) == (1, "ASKONCE_THREADS: threads: must be a whole number\n")
        monkeypatch.setenv("ASKONCE_CONFIG", str(BAD / "threads.yaml"))
        monkeypatch.delenv("ASKONCE_THREADS")
        assert askonce("config", "check").out.endswith("threads.yaml:1: threads: must be at least 1\n")


def test_config_document_and_schema(askonce):
    assert askonce("config", "document").out == document()
    assert json.loads(askonce("config", "schema").out)["title"] == "AskOnce configuration"


class TestServe:
    @pytest.fixture
    def served(self, monkeypatch):
        import askonce_server  # noqa: PLC0415 - replaced below

        served = []
        app = ModuleType("askonce_server.app")
        app.serve = lambda config, *, file: served.append((config, file)) or 7
        monkeypatch.setitem(sys.modules, "askonce_server.app", app)
        monkeypatch.setattr(askonce_server, "app", app, raising=False)
        return served

    def test_the_configuration_is_served_and_its_exit_code_kept(self, askonce, served):
        assert askonce("serve", "--config", GOOD / "everything.yaml").code == 7
        ((config, file),) = served
        assert [rule.id for rule in config.rules] == ["chat-hybrid", "embeddings"]
        assert (file.path, file.running) == (GOOD / "everything.yaml", config)
        assert file.look() is None

    def test_no_file_serves_the_default(self, askonce, served, monkeypatch):
        monkeypatch.setenv("ASKONCE_LISTEN", "127.0.0.1:7070")
        assert askonce("serve").code == 7
        ((config, file),) = served
        assert [str(address) for address in config.listen] == ["127.0.0.1:7070"]
        assert file is None

    def test_a_bad_file_serves_nothing(self, askonce, served):
        ran = askonce("serve", "-c", BAD / "threads.yaml")
        assert (ran.code, ran.out) == (1, "")
        assert ran.err.endswith("threads.yaml:1: threads: must be at least 1\n")
        assert served == []


def test_a_reader_that_has_gone_is_no_traceback():
    script = Path(sys.executable).parent / "askonce"
    for arguments in (["config", "document"], ["version"]):
        with subprocess.Popen([script, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as ran:
            ran.stdout.close()
            assert ran.stderr.read() == b""
        assert ran.returncode == 1


@pytest.mark.parametrize(
    ("shell", "code", "told"),
    [
        ("version > /dev/full", 1, "cannot write what was asked for: No space left on device"),
        ("config schema > /dev/full", 1, "cannot write what was asked for: No space left on device"),
        ("version >&-", 0, ""),
        ("explain-key - --dialect openai --endpoint chat <&-", 1, "is not JSON"),
        ("lookup <&-", 2, "is not JSON"),
        ("no-command 2>&-", 2, ""),
    ],
)
def test_standard_streams_that_are_full_or_closed_are_no_traceback(shell, code, told):
    main = "import sys; from askonce_server.cli import main; sys.exit(main())"
    command = f'"$0" -c "{main}" {shell}'
    ran = subprocess.run(["sh", "-c", command, sys.executable], capture_output=True, text=True, check=False)
    assert "Traceback" not in ran.stderr
    assert told in ran.stderr
    assert ran.returncode == code
