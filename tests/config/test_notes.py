from askonce_server.config.load import load
from askonce_server.config.notes import notes

HOME = {"HOME": "/home/ada"}


def noted(rules, **environ):
    return [str(note) for note in notes(load(None, {**HOME, "ASKONCE_RULES": rules, **environ}))]


def test_a_plain_configuration_needs_no_notes():
    assert notes(load(None, HOME)) == []


def test_a_rule_behind_one_that_matches_everything_is_never_reached():
    assert noted("[{id: a, match: {endpoint: chat}}, {id: b}, {id: c, match: {model: x}}]") == [
        "rules[2]: is never reached, since rules[1] matches every request"
    ]


def test_settings_without_effect_are_named():
    assert noted(
        "[{id: a, strategy: exact, normalized: {}, semantic: {embedder: m, threshold: 1}}]",
        ASKONCE_EMBEDDERS="{m: {kind: onnx}, n: {kind: onnx}}",
    ) == [
        "embedders.n: is used by no rule",
        "rules[0].semantic: has no effect, since strategy does not name semantic",
        "rules[0].normalized: has no effect, since strategy does not name normalized",
    ]


def test_a_verifier_that_is_never_asked_or_seldom_answers_is_named():
    rule = "[{{id: a, match: {{endpoint: chat}}, semantic: {{embedder: m, threshold: 1{more}}}}}]"
    judge = "{url: 'http://llm/v1', model: m}"

    def noted_of(more, **environ):
        config = load(
            None,
            {
                **HOME,
                "ASKONCE_RULES": rule.format(more=more),
                "ASKONCE_EMBEDDERS": "{m: {kind: onnx}}",
                **environ,
            },
        )
        as_if_served = config.rules[0].model_copy(update={"strategy": ("semantic",)})
        return [str(note) for note in notes(config.model_copy(update={"rules": (as_if_served,)}))]

    assert noted_of("") == []
    assert noted_of("", ASKONCE_JUDGE=judge) == ["judge: is asked by no rule"]
    assert noted_of(", low_threshold: 0.8") == [
        "rules[0].semantic.low_threshold: has no effect, since verifier is none"
    ]
    assert noted_of(", verifier: kreciprocal") == [
        "rules[0].semantic.verifier: is never asked, since low_threshold is 0: there is no gray band"
    ]
    judged = ", low_threshold: 0.8, verifier: judge, store_text: true"
    assert noted_of(judged, ASKONCE_JUDGE=judge) == [
        "rules[0].semantic.budget: is 35ms, and few chat models answer within that"
    ]
    assert noted_of(judged + ", budget: 1s", ASKONCE_JUDGE=judge) == []


def test_sizes_that_contradict_each_other_are_named():
    assert noted("[{id: a, admission: {max_body: 4MiB}}]") == [
        "rules[0].admission.max_body: is more than max_response (3MiB), so no batch serves larger answers"
    ]
    assert noted("[{id: a}]", ASKONCE_MAX_REQUEST="1MiB", ASKONCE_MAX_IN_FLIGHT_BYTES="512KiB") == [
        "max_in_flight_bytes: is less than max_request, so no call above 512KiB is ever taken",
        "rules[0].admission.max_body: is not less than max_request (1MiB), so larger answers never arrive",
    ]


def test_no_rules_and_shared_answers_are_named():
    assert noted("[]", ASKONCE_STORE_ENGINE="memory") == [
        "store.engine: is memory, which forgets every answer when the server stops",
        "rules: is empty, so nothing is cached",
    ]
    assert noted("[{id: a, scope: [], shared: true}]") == [
        "rules[0].scope: is empty: everybody shares the answers of this rule"
    ]


def test_encryption_that_does_not_encrypt_is_named():
    keys = "encryption: {keys: [{key_env: KEY}]"

    def noted_of(store):
        return [str(note) for note in notes(load(None, {**HOME, "ASKONCE_STORE": store}))]

    assert noted_of(f"{{{keys}}}}}") == []
    assert noted_of(f"{{{keys}, enabled: false}}}}") == [
        "store.encryption.enabled: is off, so answers are written in plain and the keys only read"
    ]
    assert noted_of(f"{{engine: memory, {keys}}}}}")[1:] == [
        "store.encryption: has no effect, since engine is memory and nothing is written to a disk"
    ]
