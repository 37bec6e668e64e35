"""JSON that has no single reading is never guessed at: the request bypasses the cache."""

from __future__ import annotations

import pytest

from askonce.v1 import descriptor_pb2
from rpc.answers import answer
from rpc.replies import filed, malformed, verdict
from rpc.requests import describe, dumps, with_body

UNREPRESENTABLE = {
    "a key twice": b'{"a":1,"a":1}',
    "a key twice, spelt with an escape": rb'{"a":1,"\u0061":2}',
    "a key twice, deep inside": b'{"x":[{"y":{"a":1,"a":2}}]}',
    "NaN": b'{"a":NaN}',
    "Infinity": b'{"a":Infinity}',
    "minus Infinity": b'{"a":[-Infinity]}',
    "beyond a double": b'{"a":1e999}',
    "beyond a double, negative": b'{"a":-1e999}',
    "beyond a double, by an absurd exponent": b'{"a":1e99999999999999999999}',
    "too small for a double": b'{"a":1e-999}',
    "2^53": b'{"a":9007199254740992}',
    "-2^53": b'{"a":-9007199254740992}',
    "2^53 as a fraction": b'{"a":9007199254740992.0}',
    "2^53 with an exponent": b'{"a":9.007199254740992e15}',
    "2^64": b'{"a":18446744073709551616}',
    "5,000 digits": b'{"a":' + b"1" * 5000 + b"}",
    "half a surrogate pair": rb'{"a":"\ud800"}',
    "the other half": rb'{"a":"x\udc00"}',
    "halves in the wrong order": rb'{"a":"\udc00\ud800"}',
    "half a surrogate pair in a key": rb'{"\ud800":1}',
    "129 levels of arrays": b'{"a":' + b"[" * 128 + b"]" * 128 + b"}",
    "129 levels of objects": b'{"a":' * 129 + b"1" + b"}" * 129,
    "100,000 levels": b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
}
REPRESENTABLE = {
    "2^53-1": b'{"a":9007199254740991}',
    "-(2^53-1)": b'{"a":-9007199254740991}',
    "a long fraction": b'{"a":0.30000000000000004}',
    "the greatest fraction": b'{"a":4503599627370495.5}',
    "the least double": b'{"a":5e-324}',
    "zero with any exponent": b'{"a":0e999}',
    "a surrogate pair": rb'{"a":"\ud83d\ude00"}',
    "an escaped backslash before a u": rb'{"a":"\\ud800"}',
    "128 levels": b'{"a":' + b"[" * 127 + b"]" * 127 + b"}",
    "keys that differ in case": b'{"a":1,"A":1}',
    "an empty key": b'{"":1}',
    "a zero character": rb'{"a":"\u0000"}',
    "a noncharacter": rb'{"a":"\uffff"}',
}


def within(document: bytes, where: str, tenant: str) -> descriptor_pb2.RequestDescriptor:
    """A request with `document` as one part, or among the members of a body."""
    if where == "body_json":
        inner = document.strip()[1:]
        return with_body(tenant, b'{"temperature":0,"messages":[],' + inner)
    content = {"messages": b"[]", "params": b'{"temperature":0}'}
    if where == "tools":  # two levels more, so that it is a list of tools
        document = (
            b'[{"type":"function","function":'
            + document.replace(b"[[", b"", 1).replace(b"]]", b"", 1)
            + b"}]"
        )
    if where == "params":
        document = b'{"temperature":0,' + document.strip()[1:]
    return describe(tenant, parts=descriptor_pb2.Content(**{**content, where: document}))


@pytest.mark.parametrize("where", ["body_json", "messages", "system", "tools", "params"])
@pytest.mark.parametrize("document", UNREPRESENTABLE.values(), ids=UNREPRESENTABLE)
def test_what_has_no_single_reading_bypasses_the_cache(gateway, tenant, document, where):
    asked = within(document, where, tenant)
    decision = gateway.ask(asked)
    assert verdict(decision) == "bypass unrepresentable_content"
    assert not decision.fill_token
    assert not decision.store_answer
    assert decision.rule_id == "default"
    assert filed(gateway.store(asked, answer())) == "unrepresentable_content"


@pytest.mark.parametrize("where", ["body_json", "messages", "system", "tools", "params"])
@pytest.mark.parametrize("document", REPRESENTABLE.values(), ids=REPRESENTABLE)
def test_what_has_one_is_cached(gateway, tenant, document, where):
    asked = within(document, where, tenant)
    assert verdict(gateway.ask(asked)) == "miss"
    assert filed(gateway.store(asked, answer())) == "stored"
    assert verdict(gateway.ask(asked)) == "hit exact"


@pytest.mark.parametrize(("levels", "fits"), [(128, True), (129, False)])
def test_depth_counts_the_root_of_each_document(gateway, tenant, levels, fits):
    document = b"[" * levels + b"]" * levels
    asked = describe(tenant, parts=descriptor_pb2.Content(messages=document, params=b'{"temperature":0}'))
    assert verdict(gateway.ask(asked)) == ("miss" if fits else "bypass unrepresentable_content")


def test_brackets_inside_strings_are_no_levels(gateway, tenant):
    asked = describe(tenant, [{"role": "user", "content": "[{" * 500 + '\\"' * 300}])
    assert verdict(gateway.ask(asked)) == "miss"


def test_a_number_without_a_double_in_what_is_not_keyed_does_no_harm(gateway, tenant):
    asked = with_body(tenant, b'{"messages":[],"temperature":0,"metadata":{"id":18446744073709551616}}')
    assert verdict(gateway.ask(asked)) == "miss"


def test_one_such_part_beside_a_broken_one_is_malformed(gateway, tenant):
    content = descriptor_pb2.Content(messages=b'{"a":1,"a":1}', params=b"{")
    found = malformed(lambda: gateway.ask(describe(tenant, parts=content)))
    assert set(found) == {"descriptor.parts.params"}


@pytest.mark.parametrize(
    "value", ["*", "%", ".*", "x" * 4096, "\x00", "\u202e", "é", "e\u0301", " ", "tenant=a", "\U0001f600"]
)
def test_any_scope_value_is_hashed_as_it_is(gateway, tenant, value):
    """None is a wildcard: what is stored under it is found under it alone, and it finds nothing else."""
    asked = describe(value, [{"role": "user", "content": tenant}])
    gateway.fill(describe(tenant, [{"role": "user", "content": tenant}]))
    assert verdict(gateway.ask(asked)) == "miss"
    gateway.fill(asked)
    assert verdict(gateway.ask(asked)) == "hit exact"
    for other in (f"{value[:4095]}\u00b7"[:2000], value.upper() + "x"):
        if other != value and len(other.encode()) <= 4096:
            assert verdict(gateway.ask(describe(other, [{"role": "user", "content": tenant}]))) == "miss"


def test_numbers_in_bodies_are_judged_like_those_in_parts(gateway, tenant):
    gateway.fill(with_body(tenant, {"messages": [], "temperature": 0, "n": 2}))
    asked = with_body(tenant, dumps({"messages": [], "temperature": 0.0}).replace(b"}", b',"n":2.0e0}'))
    assert verdict(gateway.ask(asked)) == "hit exact"
