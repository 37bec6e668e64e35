"""The semantic matcher through a real sidecar; the gateway sends vectors, so that a test says how near."""

from __future__ import annotations

import struct
import threading
import time

import pytest

from askonce.v1 import admin_service_pb2, decision_pb2, reason_pb2
from rpc.answers import answer_for, storing
from rpc.harness import running
from rpc.replies import filed, malformed, outcome, verdict
from rpc.requests import describe, seconds, turns, with_body
from rpc.semantic import DIM, asking, at, semantic, semantic_rule

FIRST = "How do I reset my password?"
AGAIN = "How can I reset my password?"
TOO_LARGE = reason_pb2.BYPASS_REASON_PARTITION_TOO_LARGE


@pytest.fixture(scope="module")
def server():
    with running(**semantic()) as one:
        yield one


@pytest.fixture
def tenant(request):
    return request.node.name


def near(server, tenant, cosine, text=AGAIN, **changes):
    return server.gateway.ask(asking(text, at(cosine), tenant=tenant, **changes))


def put(server, asked, said, **rest):
    """Store whatever a Lookup would say."""
    assert filed(server.gateway.store(asked, answer_for(asked, said), **rest)) == "stored"


def fill(server, tenant, text=FIRST, said="Like this.", **changes):
    return server.gateway.fill(asking(text, at(1), tenant=tenant, **changes), said)


def test_a_reworded_question_finds_its_answer(server, tenant):
    stored = fill(server, tenant)
    assert [entry.kind for entry in stored.entries] == [1, 2, 3]

    found = near(server, tenant, 0.97)
    assert verdict(found) == "hit semantic"
    candidate = found.candidate
    assert candidate.entry_id == stored.entries[2].entry_id
    assert candidate.similarity == pytest.approx(0.97, abs=1e-6)
    assert (candidate.threshold, candidate.low_threshold) == (0.95, 0.85)
    assert candidate.zone == decision_pb2.ZONE_ABOVE
    assert (candidate.verified, candidate.verifier) == (False, "")
    assert b"Like this." in candidate.body.data
    assert not candidate.HasField("cost_avoided_usd")
    assert found.cache_status.startswith("askonce; hit;")


def test_what_is_not_near_enough_says_how_near_it_was(server, tenant):
    fill(server, tenant)
    for cosine, said, zone in (
        (0.9, "miss gray_unverified", decision_pb2.ZONE_GRAY),
        (0.5, "miss below_threshold", decision_pb2.ZONE_BELOW),
        (0.0, "miss below_threshold", decision_pb2.ZONE_BELOW),
    ):
        found = near(server, tenant, cosine)
        assert verdict(found) == said
        assert found.candidate.zone == zone
        assert found.candidate.similarity == pytest.approx(cosine, abs=1e-6)
        assert not found.candidate.HasField("body")
        assert found.store_answer


def test_equal_vectors_have_similarity_one_and_orthogonal_ones_none(server, tenant):
    fill(server, tenant)
    assert near(server, tenant, 1).candidate.similarity == pytest.approx(1, abs=1e-6)
    assert near(server, tenant, 0).candidate.similarity == pytest.approx(0, abs=1e-6)


def test_the_best_of_three_is_served(server, tenant):
    texts = {0.86: "Reset password", 0.97: "Please reset my password", 0.91: "Reset the password now"}
    for cosine, text in texts.items():
        put(server, asking(text, at(cosine), tenant=tenant), text)
    found = server.gateway.ask(asking("How would one reset a password?", at(1), tenant=tenant))
    assert found.candidate.similarity == pytest.approx(0.97, abs=1e-6)
    assert b"Please reset my password" in found.candidate.body.data


@pytest.mark.parametrize(
    ("one", "other", "why"),
    [
        ("How do I turn on dark mode?", "How do I turn off dark mode?", "guard_negation"),
        ("What is 2 + 3?", "What is 2 + 8?", "guard_number"),
        ("Please refund 100", "Please refund 1000", "guard_number"),
        ("Alice sues Bob", "Bob sues Alice", "guard_order"),
        ("Flights to Berlin", "Flights to Madrid", "guard_entity"),
        ("Bake a chocolate cake", "Repair the bicycle chain", "guard_lexical"),
    ],
)
def test_guards_deny_at_any_similarity(server, tenant, one, other, why):
    server.gateway.fill(asking(one, at(1), tenant=tenant))
    for cosine in (0.9, 0.96, 1):
        assert verdict(near(server, tenant, cosine, other)) == f"miss {why}"


def test_everything_but_the_text_keeps_answers_apart(server, tenant):
    fill(server, tenant)
    text = {"role": "user", "content": AGAIN}
    others = (
        {"tenant": f"{tenant}-2"},
        {"served": {"provider": "openai", "model": "gpt-4.1"}},
        {"stream": True},
        {"system": [{"role": "system", "content": "Answer in French."}]},
        {"params": {"temperature": 0, "top_p": 0.5}},
        {"tools": [{"type": "function", "function": {"name": "f"}}]},
        {"versions": {"prompt": "2"}},
    )
    for change in others:
        asked = asking(AGAIN, at(1), **{"tenant": tenant, **change})
        assert verdict(server.gateway.ask(asked)) == "miss", change
    earlier = describe(tenant, [*turns("I am Ann", "Hello Ann"), text])
    earlier.embedding.CopyFrom(asking(AGAIN, at(1)).embedding)
    assert verdict(server.gateway.ask(earlier)) == "miss"


def test_history_decides_whom_a_question_is_about(server, tenant):
    def asked(who, vector):
        one = describe(tenant, turns(f"Who is the CEO of {who}?", "Somebody.", "How old is he?"))
        one.embedding.CopyFrom(asking("", vector).embedding)
        return one

    server.gateway.fill(asked("OpenAI", at(1)), "39")
    assert verdict(server.gateway.ask(asked("Apple", at(1)))) == "miss"
    assert verdict(server.gateway.ask(asked("OpenAI", at(0.99)))).startswith("hit")


def test_one_tenant_of_a_thousand_finds_its_own(server):
    names = [f"thousand-{number}" for number in range(1000)]
    for start in range(0, 1000, 100):
        asked = [asking(FIRST, at(1), tenant=name) for name in names[start : start + 100]]
        decisions = [result.decision for result in server.gateway.ask_all(asked)]
        assert {verdict(decision) for decision in decisions} == {"miss"}
        items = [
            storing(decision.fill_token, answer_for(one, f"for {one.scope['tenant']}."))
            for one, decision in zip(asked, decisions, strict=True)
        ]
        assert {filed(result.response) for result in server.gateway.store_all(items)} == {"stored"}
    for start in range(0, 1000, 100):
        asked = [asking(AGAIN, at(0.97), tenant=name) for name in names[start : start + 100]]
        for one, result in zip(asked, server.gateway.ask_all(asked), strict=True):
            assert verdict(result.decision) == "hit semantic"
            assert f"for {one.scope['tenant']}.".encode() in result.decision.candidate.body.data


def test_a_batch_decides_as_single_calls_do(server, tenant):
    fill(server, tenant)
    cosines = [0.5 + at_ / 2000 for at_ in range(1000)]
    asked = [asking(AGAIN, at(cosine), tenant=tenant) for cosine in cosines]
    single = [server.gateway.ask(one) for one in asked]
    batch = [
        result.decision
        for start in range(0, 1000, 100)
        for result in server.gateway.ask_all(asked[start : start + 100])
    ]
    assert [(verdict(one), one.candidate.similarity) for one in single] == [
        (verdict(one), one.candidate.similarity) for one in batch
    ]
    assert {verdict(one) for one in single} == {
        "hit semantic",
        "miss gray_unverified",
        "miss below_threshold",
    }


@pytest.mark.parametrize(
    "values",
    [
        b"",
        at(1)[:-4],
        at(1) + bytes(4),
        at(1)[:-1],
        bytes(4 * DIM),
        struct.pack(f"<{DIM}f", float("nan"), *[0.0] * (DIM - 1)),
        struct.pack(f"<{DIM}f", float("inf"), *[0.0] * (DIM - 1)),
    ],
    ids=["empty", "short", "long", "torn", "zero", "nan", "infinite"],
)
def test_a_vector_that_is_none_is_refused_by_name(server, tenant, values):
    asked = asking(FIRST, values, tenant=tenant)
    for call in (server.gateway.ask, server.gateway.store):
        assert list(malformed(lambda call=call: call(asked))) == ["descriptor.embedding.values"]
    result = server.gateway.ask_all([asked])[0]
    assert result.WhichOneof("result") == "error"


def test_without_a_vector_only_this_matcher_is_skipped(server, tenant):
    decision = server.gateway.ask(asking(FIRST, tenant=tenant))
    assert outcome(decision) == "miss"
    assert [(skip.matcher, skip.reason) for skip in decision.skipped] == [(3, 17)]
    stored = server.gateway.store(decision.fill_token, answer_for(asking(FIRST, tenant=tenant), "x"))
    assert [entry.kind for entry in stored.entries] == [1, 2]


def test_a_store_by_descriptor_is_found_by_a_reworded_question(server, tenant):
    asked = asking(FIRST, at(1), tenant=tenant)
    assert filed(server.gateway.store(asked, answer_for(asked, "By descriptor."))) == "stored"
    assert b"By descriptor." in near(server, tenant, 0.97).candidate.body.data


def test_a_later_answer_takes_the_place_of_an_earlier_one(server, tenant):
    asked = asking(FIRST, at(1), tenant=tenant)
    for said in ("First.", "Second."):
        assert filed(server.gateway.store(asked, answer_for(asked, said))) == "stored"
    assert b"Second." in near(server, tenant, 0.97).candidate.body.data


def test_an_expired_neighbour_is_passed_over(server, tenant):
    near_by = asking("Please reset my password", at(0.99), tenant=tenant)
    far = asking("Reset my password please", at(0.96), tenant=tenant)
    put(server, near_by, "short-lived", ttl=seconds(1))
    put(server, far, "long-lived")
    time.sleep(1.1)
    found = server.gateway.ask(asking("How is a password reset?", at(1), tenant=tenant))
    assert verdict(found) == "hit semantic"
    assert b"long-lived" in found.candidate.body.data


def test_a_provider_body_is_read_as_parts_are(server, tenant):
    messages = [{"role": "user", "content": FIRST}]
    one = with_body(tenant, {"model": "gpt-4o", "temperature": 0, "messages": messages})
    one.embedding.CopyFrom(asking("", at(1)).embedding)
    server.gateway.fill(one)
    assert verdict(near(server, tenant, 0.97)) == "hit semantic"


def test_other_endpoints_are_not_embedded(server, tenant):
    decision = server.gateway.ask(asking(FIRST, at(1), tenant=tenant, endpoint="embeddings"))
    assert verdict(decision) == "bypass no_rule"


def test_the_server_says_which_embedders_it_has(server):
    told = server.operator.admin.GetServerInfo(admin_service_pb2.GetServerInfoRequest())
    assert [(one.name, one.kind, one.dimensions) for one in told.embedders] == [("own", "provided", DIM)]
    assert len(told.embedders[0].fingerprint) == 64


def test_a_batch_of_stores_by_token_is_found(server, tenant):
    texts = ["Where is my parcel?", "Cancel my order please", "Change my delivery address"]
    vectors = [struct.pack(f"<{DIM}f", *[float(at_ == place) for at_ in range(DIM)]) for place in range(3)]
    asked = [asking(text, vector, tenant=tenant) for text, vector in zip(texts, vectors, strict=True)]
    tokens = [result.decision.fill_token for result in server.gateway.ask_all(asked)]
    items = [
        storing(token, answer_for(one, text))
        for token, one, text in reversed(list(zip(tokens, asked, texts, strict=True)))
    ]
    assert [filed(result.response) for result in server.gateway.store_all(items)] == ["stored"] * 3
    for text, vector in zip(texts, vectors, strict=True):
        found = server.gateway.ask(asking(text.rstrip("?") + " now?", vector, tenant=tenant))
        assert text.encode() in found.candidate.body.data


def test_a_restart_finds_every_acknowledged_answer(tmp_path_factory):
    folder = tmp_path_factory.mktemp("s")
    with running(folder, **semantic()) as one:
        fill(one, "acme")
    with running(folder, **semantic()) as one:
        assert verdict(near(one, "acme", 0.97)) == "hit semantic"


def test_another_dimension_begins_cold_and_the_exact_tier_goes_on(tmp_path_factory):
    folder = tmp_path_factory.mktemp("s")
    with running(folder, **semantic()) as one:
        fill(one, "acme")
    with running(folder, **semantic() | {"embedders": {"own": {"kind": "provided", "dim": 4}}}) as one:
        vector = struct.pack("<4f", 1, 0, 0, 0)
        assert verdict(one.gateway.ask(asking(AGAIN, vector))) == "miss"
        assert verdict(one.gateway.ask(asking(FIRST, vector))) == "hit exact"


@pytest.mark.parametrize("low", [0, 0.85])
def test_thresholds_are_per_rule(low):
    with running(**semantic(threshold=1.0, low_threshold=low)) as one:
        fill(one, "acme")
        assert verdict(near(one, "acme", 0.9999)).startswith("miss")
        assert verdict(near(one, "acme", 1)) == "hit semantic"


def test_many_threads_in_one_partition_get_their_own_answers(server, tenant):
    """64 threads ask and store in one partition at once; each gets the answer of its own question."""
    wrong, lock = [], threading.Lock()

    def work(number):
        vector = [0.0] * DIM
        vector[number % DIM] = 1.0
        text = f"Question about subject {number % DIM}, please"
        asked = asking(text, struct.pack(f"<{DIM}f", *vector), tenant=tenant)
        for _ in range(5):
            decision = server.gateway.ask(asked)
            if outcome(decision) == "hit":
                if f"about {number % DIM}.".encode() not in decision.candidate.body.data:
                    with lock:
                        wrong.append(number)
            else:
                server.gateway.store(decision.fill_token, answer_for(asked, f"about {number % DIM}."))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(64)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    assert wrong == []


def template(slot):
    """A prompt of 1.5 kB whose only changing part is `slot`, of twenty words."""
    rules = " ".join(
        f"Rule {number}: keep the customer's words and name the article it falls under."
        for number in range(18)
    )
    return f"You sort letters of customers. {rules} The letter: {slot}. Answer with one label."


def test_one_template_filled_in_fifty_ways_never_hits(server, tenant):
    """Their vectors may be equal: what a model reads of a long text hardly changes with one slot."""
    nouns = "kettle lamp carpet bicycle printer ladder jacket camera guitar blender".split()
    verbs = "leaks hums faded squeaks jammed".split()
    end = "since the week after I unpacked it and nobody told me why so far"
    slots = [f"my {noun} from the shop in Bergen {verb} {end}" for noun in nouns for verb in verbs]
    assert len(slots) == 50
    for slot in slots:
        asked = asking(template(slot), at(1), tenant=tenant)
        decision = server.gateway.ask(asked)
        assert outcome(decision) == "miss", slot
        assert filed(server.gateway.store(decision.fill_token, answer_for(asked, slot))) == "stored"


def test_a_text_longer_than_the_model_reads_is_left_alone():
    with running(
        embedders={"minilm": {"kind": "onnx"}}, rules=[semantic_rule(embedder="minilm", budget="5s")]
    ) as one:
        long = "The same beginning of a very long story. " * 100
        for end in ("What is the weather?", "Who won the match?"):
            asked = asking(long + end)
            decision = one.gateway.ask(asked)
            assert [(skip.matcher, skip.reason) for skip in decision.skipped] == [(3, 16)]
            stored = one.gateway.store(decision.fill_token, answer_for(asked, end))
            assert [entry.kind for entry in stored.entries] == [1, 2]


def test_the_packaged_model_finds_a_reworded_question():
    with running(
        embedders={"minilm": {"kind": "onnx"}}, rules=[semantic_rule(embedder="minilm", budget="5s")]
    ) as one:
        one.gateway.fill(asking(FIRST))
        found = one.gateway.ask(asking(AGAIN))
        assert verdict(found) == "hit semantic"
        assert found.candidate.similarity > 0.98


def test_a_partition_larger_than_the_index_is_skipped_with_a_reason_that_is_counted():
    settings = semantic()
    settings["embedders"]["own"]["dim"] = wide = 1024
    with running(**settings, index={"max_bytes": "1MiB"}) as server:
        for first in range(0, 2304, 256):
            asked = [
                asking(f"question {number}", struct.pack(f"<{wide}f", 1, number, *[0] * (wide - 2)))
                for number in range(first, first + 256)
            ]
            stored = server.gateway.store_all([storing(one, answer_for(one)) for one in asked])
            assert {filed(result.response) for result in stored} == {"stored"}
        for _ in range(3):
            found = server.gateway.ask(asking("another question", struct.pack(f"<{wide}f", *[1] * wide)))
            assert (outcome(found), found.bypass_reason) == ("miss", TOO_LARGE)
            assert found.store_answer
        tallies = server.stats().tallies
        assert tallies["skipped.semantic.partition_too_large"] == 3
        assert server.gateway.ask(asked[0]).kind == 1  # what is looked up by key is found
