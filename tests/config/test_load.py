"""What a good file, no file and the environment make of the configuration."""

from datetime import timedelta
from pathlib import Path

import pytest
from pydantic import ValidationError

from askonce_server.config.address import TcpAddress, UnixAddress
from askonce_server.config.load import ConfigError, load
from askonce_server.config.model import Config

GOOD = Path(__file__).parent / "good"
HOME = {"HOME": "/home/ada"}
PUBLIC = "can be reached by other machines at 0.0.0.0:2: give tls, or say insecure: true"


def problems(path, environ):
    with pytest.raises(ConfigError) as caught:
        load(path, {**HOME, **environ})
    return [str(problem) for problem in caught.value.problems]


def written(folder, text):
    file = folder / "askonce.yaml"
    file.write_text(text)
    return file


def test_no_file_gives_the_embedded_default():
    config = load(None, HOME)

    (rule,) = config.rules
    assert (rule.id, rule.mode, rule.strategy, rule.scope) == (
        "default",
        "serve",
        ("exact", "normalized"),
        ("tenant",),
    )
    assert rule.ttl == timedelta(hours=1)
    assert rule.eligibility.sampling == "deterministic_only"
    assert config.store.path == Path("/home/ada/.local/state/askonce")
    assert config.listen == (
        TcpAddress("127.0.0.1", 50051),
        UnixAddress("/home/ada/.local/state/askonce/askonce.sock"),
    )
    assert (config.max_request, config.max_response, config.max_in_flight_bytes) == (
        8 << 20,
        3 << 20,
        256 << 20,
    )
    assert (config.store.max_bytes, config.store.durability, config.store.engine) == (
        2 << 30,
        "commit",
        "lmdb",
    )
    assert config.admin is None
    assert config.telemetry.listen is None


def test_folders_follow_the_xdg_variables(tmp_path):
    config = load(None, {**HOME, "XDG_STATE_HOME": "/state", "XDG_RUNTIME_DIR": str(tmp_path)})

    assert config.store.path == Path("/state/askonce")
    assert config.listen[1] == UnixAddress(f"{tmp_path}/askonce.sock")


@pytest.mark.parametrize("environ", [{"XDG_STATE_HOME": "state"}, {"XDG_RUNTIME_DIR": "/nowhere/at/all"}])
def test_unusable_xdg_variables_are_passed_over(environ):
    assert load(None, {**HOME, **environ}) == load(None, HOME)


def test_a_socket_path_that_is_too_long_is_no_default():
    assert load(None, {"HOME": f"/home/{'a' * 90}"}).listen == (TcpAddress("127.0.0.1", 50051),)


def test_a_user_without_a_home_must_say_where(monkeypatch):
    monkeypatch.setattr("os.path.expanduser", lambda path: path)
    with pytest.raises(ConfigError, match=r"store\.path: must be a path"):
        load(None, {})
    assert load(None, {"ASKONCE_STORE_PATH": "/data"}).listen == (TcpAddress("127.0.0.1", 50051),)


def test_every_setting_can_be_said():
    config = load(GOOD / "everything.yaml", HOME)

    chat, embeddings = config.rules
    assert config.listen[2] == TcpAddress("0.0.0.0", 50052)
    assert config.max_in_flight_bytes == 3 << 29
    assert config.store.max_bytes == 2 * 10**9
    assert config.store.write_timeout == timedelta(milliseconds=500)
    assert config.embedders["own"].dim == 384
    assert config.telemetry.listen == TcpAddress("::1", 9464)
    assert config.drain.delay == timedelta()
    assert chat.match.stream is False
    assert chat.match.attributes == {"app": "support", "build": "2024-08-06"}
    assert (chat.normalized.guard, chat.normalized.case_fold) == (False, True)
    assert chat.semantic.low_threshold == 0.85
    assert chat.coalesce.lease == timedelta(seconds=60)
    assert (embeddings.mode, embeddings.strategy, embeddings.scope) == ("off", ("exact",), ())


def test_one_rule_can_take_over_another():
    support, search = load(GOOD / "merged.yaml", HOME).rules

    assert (search.id, search.ttl, search.scope) == ("search", support.ttl, ("tenant", "user"))
    assert search.match.attributes == {"app": "search"}


@pytest.mark.parametrize("spelling", ["off", "OFF", "false", "no", "'off'", "False"])
def test_switches_take_every_spelling_of_off(tmp_path, spelling):
    file = written(tmp_path, f"rules: [{{id: a, normalized: {{guard: {spelling}}}}}]")
    assert load(file, HOME).rules[0].normalized.guard is False


@pytest.mark.parametrize("spelling", ["off", "false", "'off'"])
def test_mode_off_is_off_however_yaml_reads_it(tmp_path, spelling):
    assert load(written(tmp_path, f"rules: [{{id: a, mode: {spelling}}}]"), HOME).rules[0].mode == "off"


@pytest.mark.parametrize("value", ["no", "on", "1:30", "2024-08-06", "0o17", "1_000", "=", "0x1F"])
def test_texts_stay_texts_under_yaml_1_2(tmp_path, value):
    file = written(tmp_path, f"rules: [{{id: a, match: {{scope: {{tenant: {value}}}}}}}]")
    assert load(file, HOME).rules[0].match.scope == {"tenant": value}


def test_values_never_change():
    with pytest.raises(ValidationError, match="frozen"):
        load(None, HOME).threads = 1


def test_a_missing_file_is_one_clear_problem(tmp_path):
    assert problems(tmp_path / "none.yaml", {}) == [
        f"{tmp_path}/none.yaml: cannot be read: No such file or directory"
    ]
    assert problems(tmp_path, {}) == [f"{tmp_path}: cannot be read: Is a directory"]


def test_a_huge_file_and_unfolding_aliases_are_refused(tmp_path):
    laughs = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n"
    laughs += "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 9))
    assert any("unfolds to too many values" in line for line in problems(written(tmp_path, laughs), {}))
    assert "larger than 4MiB" in problems(written(tmp_path, "#" * (5 << 20)), {})[0]
    assert problems(written(tmp_path, "[" * 20000), {}) == [f"{tmp_path}/askonce.yaml: is nested too deeply"]


class TestEnvironment:
    def test_top_level_settings_are_overridden(self, tmp_path):
        file = written(tmp_path, "threads: 4\nstore: {path: /file, max_bytes: 1GiB}\nlisten: 127.0.0.1:1")
        config = load(
            file,
            {
                **HOME,
                "ASKONCE_THREADS": "9",
                "ASKONCE_MAX_REQUEST": "4MiB",
                "ASKONCE_STORE_PATH": "/a b#c",
                "ASKONCE_LISTEN": "127.0.0.1:7, unix:///run/a.sock",
            },
        )
        assert (config.threads, config.max_request) == (9, 4 << 20)
        assert (config.store.path, config.store.max_bytes) == (Path("/a b#c"), 1 << 30)
        assert config.listen == (TcpAddress("127.0.0.1", 7), UnixAddress("/run/a.sock"))

    def test_a_section_replaces_and_its_settings_refine(self, tmp_path):
        file = written(tmp_path, "store: {path: /file, max_bytes: 1GiB}")
        environ = {"ASKONCE_STORE": "{max_bytes: 3GiB}", "ASKONCE_STORE_PATH": "/env"}
        assert load(file, {**HOME, **environ}).store.max_bytes == 3 << 30
        assert load(file, {**HOME, **environ}).store.path == Path("/env")
        assert load(file, {**HOME, "ASKONCE_STORE": "{max_bytes: 3GiB}"}).store.path == Path(
            "/home/ada/.local/state/askonce"
        )

    @pytest.mark.parametrize(
        "value", ["'[::1]:50051'", "[127.0.0.1:50051]", "['[::1]:50051', unix:///run/a.sock]"]
    )
    def test_addresses_may_be_yaml(self, value):
        text = value.strip("'") if value.startswith("'") else value
        assert load(None, {**HOME, "ASKONCE_LISTEN": text}).listen[0].port == 50051

    def test_rules_are_yaml(self):
        config = load(None, {**HOME, "ASKONCE_RULES": "[{id: a, mode: off, ttl: 2m}]"})
        assert [(rule.id, rule.mode) for rule in config.rules] == [("a", "off")]

    def test_empty_variables_are_absent(self):
        assert load(None, {**HOME, "ASKONCE_THREADS": "", "ASKONCE_NONSENSE": ""}) == load(None, HOME)

    def test_mistakes_name_the_variable(self):
        assert problems(
            None,
            {
                "ASKONCE_THREADS": "many",
                "ASKONCE_LISTEN": "127.0.0.1:1,0.0.0.0:2",
                "ASKONCE_RULES": "[{id: a",
                "ASKONCE_DRAIN_GRACE": "10",
                "ASKONCE_TREADS": "3",
                "ASKONCE_STORE_PAHT": "/x",
            },
        ) == [
            "ASKONCE_DRAIN_GRACE: drain.grace: needs a unit: did you mean 10s? Units are d, h, m, s and ms",
            f"ASKONCE_LISTEN: listen[1]: {PUBLIC}",
            "ASKONCE_RULES: is not YAML: expected ',' or '}', but got '<stream end>' (column 8)",
            "ASKONCE_STORE_PAHT: is no setting: did you mean ASKONCE_STORE_PATH?",
            "ASKONCE_THREADS: threads: must be a whole number",
            "ASKONCE_TREADS: is no setting: did you mean ASKONCE_THREADS?",
        ]

    def test_other_uses_of_the_prefix_are_no_mistakes(self):
        environ = {
            "ASKONCE_CONFIG": "/etc/askonce.yaml",
            "ASKONCE_TARGET": "127.0.0.1:50051",
            "ASKONCE_ADMIN_TARGET": "unix:///run/admin.sock",
            "ASKONCE_ADMIN_TOKEN": "secret",
            "ASKONCE_ADMIN": "{listen: unix:///run/admin.sock, token_env: ASKONCE_ADMIN_TOKEN}",
            # what Kubernetes sets for Services called `askonce` and `askonce-web`
            "ASKONCE_SERVICE_HOST": "10.0.0.1",
            "ASKONCE_SERVICE_PORT": "50051",
            "ASKONCE_SERVICE_PORT_GRPC": "50051",
            "ASKONCE_PORT": "tcp://10.0.0.1:50051",
            "ASKONCE_PORT_50051_TCP": "tcp://10.0.0.1:50051",
            "ASKONCE_PORT_50051_TCP_ADDR": "10.0.0.1",
            "ASKONCE_WEB_SERVICE_HOST": "10.0.0.2",
            "ASKONCE_WEB_PORT": "tcp://10.0.0.2:80",
        }
        assert load(None, {**HOME, **environ}).admin.token_env == "ASKONCE_ADMIN_TOKEN"

    def test_a_port_that_no_service_set_is_a_mistake(self):
        assert "is no setting" in problems(None, {"ASKONCE_PORT": "50051"})[0]
        assert "is no setting" in problems(None, {"ASKONCE_ADMIN_TOKEN": "secret"})[0]

    def test_a_section_that_is_something_else_stays_the_mistake_of_the_file(self, tmp_path):
        file = written(tmp_path, "store: here")
        assert problems(file, {"ASKONCE_STORE_PATH": "/x"}) == [
            f"{file}:1: store: must be a mapping of names to values"
        ]


def test_the_configuration_writes_itself_as_operators_do():
    written_back = load(GOOD / "everything.yaml", HOME).model_dump(mode="json")

    assert written_back["max_in_flight_bytes"] == "1536MiB"
    assert written_back["rules"][0]["max_ttl"] == "1h30m"
    assert written_back["listen"][0] == "unix:///run/askonce/askonce.sock"
    assert Config.model_validate({**written_back, "rules": [{"id": "a"}]}).store.path == Path(
        "/var/lib/askonce"
    )
