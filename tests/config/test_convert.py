from pathlib import Path

from askonce_server.config.convert import core_rules
from askonce_server.config.load import load
from askonce_server.core.guards import ALL_OFF, GuardSettings
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import (
    Admission,
    Coalesce,
    Eligibility,
    Gray,
    Identity,
    KeyPolicy,
    Match,
    Rule,
    RuleMode,
    SemanticPolicy,
    Stale,
)

GOOD = Path(__file__).parent / "good"
HOME = {"HOME": "/home/ada"}


def test_the_embedded_default_is_the_core_default():
    assert core_rules(load(None, HOME)) == (Rule(id="default"),)


def test_every_setting_reaches_the_core():
    chat, embeddings = core_rules(load(GOOD / "everything.yaml", HOME))

    assert chat == Rule(
        id="chat-hybrid",
        match=Match(
            endpoint=("chat", "messages"),
            dialect=("openai",),
            provider=("azure-*",),
            model=("gpt-4*", "o?"),
            stream=False,
            attributes={"app": "support", "build": "2024-08-06"},
            scope={"tenant": "acme-*"},
        ),
        mode=RuleMode.SHADOW,
        strategy=(Matcher.EXACT, Matcher.NORMALIZED, Matcher.SEMANTIC),
        ttl_ms=900_000,
        min_ttl_ms=5_000,
        max_ttl_ms=5_400_000,
        scope=("tenant", "user"),
        key=KeyPolicy(
            identity=Identity.TARGET,
            stream_shared=True,
            params_class=True,
            ignore_params=("seed", "user"),
            normalized_guard=False,
            case_fold=True,
            history_max_messages=0,
            history_overflow="reject",
        ),
        eligibility=Eligibility(
            sampled=True, remote_content=True, time_sensitive=("today", "strasse"), max_content=64 << 10
        ),
        admission=Admission(
            tool_calls=False,
            usage_required=True,
            max_body=256 << 10,
            validate_tool_json=True,
            complete=("end", "stop"),
            store_fallback=True,
        ),
        semantic=SemanticPolicy(
            embedder="minilm",
            threshold=0.95,
            low_threshold=0.85,
            verifier=Gray.JUDGE,
            budget_ms=35,
            tool_calls=True,
            store_text=True,
            guards=GuardSettings(number=False, slot=True, min_overlap=0.5),
        ),
        stale=Stale(on_request_ms=10_000, while_revalidate_ms=20_000, if_error_ms=3_600_000),
        coalesce=Coalesce(lease_ms=60_000, max_waiters=16),
    )
    assert (embeddings.mode, embeddings.strategy, embeddings.scope) == (RuleMode.OFF, (Matcher.EXACT,), ())


def test_ttl_bounds_follow_the_ttl_where_they_are_not_said():
    environ = {**HOME, "ASKONCE_RULES": "[{id: a, ttl: 10ms}, {id: b, ttl: 7d}, {id: c, ttl: 1h}]"}
    bounds = [(rule.min_ttl_ms, rule.max_ttl_ms) for rule in core_rules(load(None, environ))]
    day = 86_400_000
    assert bounds == [(10, day), (1000, 7 * day), (1000, day)]


def test_all_guards_have_one_switch():
    rule = "{{id: a, match: {{endpoint: chat}}, strategy: [semantic], semantic: {}}}"
    found = {}
    for said in ("on", "off", "strict"):
        semantic = f"{{embedder: m, threshold: 0.9, guards: {said}}}"
        environ = {"ASKONCE_EMBEDDERS": "{m: {kind: onnx}}", "ASKONCE_RULES": f"[{rule.format(semantic)}]"}
        found[said] = core_rules(load(None, HOME | environ))[0].semantic.guards
    assert found == {"on": GuardSettings(), "off": ALL_OFF, "strict": GuardSettings(slot=True)}
