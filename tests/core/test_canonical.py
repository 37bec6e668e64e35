"""Tables: what strict parsing refuses and where, and what RFC 8785 writes."""

from __future__ import annotations

import json
import struct
import threading
from decimal import Decimal

import jiter
import pytest

from askonce_server.core.canonical import MAX_DEPTH, MAX_INTEGER, canonicalize, encode, parse
from askonce_server.core.errors import NotJson, Unrepresentable

MEBI = 1 << 20


@pytest.mark.parametrize(
    ("raw", "offset"),
    [
        pytest.param(b"", 0, id="empty"),
        pytest.param(b" \t\r\n", 4, id="only white space"),
        pytest.param(b"\xef\xbb\xbf1", 0, id="byte order mark"),
        pytest.param(b'"\xff"', 1, id="invalid UTF-8"),
        pytest.param(b'{"\xc3\xa9":"\xc3"}', 7, id="truncated UTF-8"),
        pytest.param(b'"\xed\xa0\x80"', 1, id="surrogate in UTF-8"),
        pytest.param(b'"\xc0\xaf"', 1, id="overlong UTF-8"),
        pytest.param(b'"\xf4\x90\x80\x80"', 1, id="beyond U+10FFFF"),
        pytest.param(b"1 2", 2, id="two documents"),
        pytest.param(b"{} x", 3, id="trailing characters"),
        pytest.param(b"1\x00", 1, id="trailing NUL"),
        pytest.param(b"\x0b1", 0, id="vertical tab"),
        pytest.param(b"\xc2\xa01", 0, id="no-break space"),
        pytest.param(b"tru", 0, id="half a literal"),
        pytest.param(b"True", 0, id="Python literal"),
        pytest.param(b"nan", 0, id="nan in lower case"),
        pytest.param(b"-NaN", 0, id="negative NaN"),
        pytest.param(b"undefined", 0, id="undefined"),
        pytest.param(b"'a'", 0, id="single quotes"),
        pytest.param(b"+1", 0, id="plus sign"),
        pytest.param(b".5", 0, id="no digit before the point"),
        pytest.param(b"5.", 1, id="no digit after the point"),
        pytest.param(b"01", 1, id="leading zero"),
        pytest.param(b"-", 0, id="lone minus"),
        pytest.param(b"1e", 1, id="no exponent"),
        pytest.param(b"0x10", 1, id="hexadecimal"),
        pytest.param(b"1_000", 1, id="digit separator"),
        pytest.param(b"\xd9\xa1", 0, id="Arabic digit"),
        pytest.param(b'"abc', 0, id="unterminated string"),
        pytest.param(b'"a\x01"', 2, id="control character"),
        pytest.param(b'"a\nb"', 2, id="line break in a string"),
        pytest.param(b'"a\\x"', 2, id="unknown escape"),
        pytest.param(b'["\xc3\xa9", ?]', 7, id="offset in bytes, not characters"),
        pytest.param(b'{"a" 1}', 5, id="no colon"),
        pytest.param(b"{1:2}", 1, id="key without quotes"),
        pytest.param(b"[1 2]", 3, id="no comma"),
        pytest.param(b'{"a":}', 5, id="no value"),
        pytest.param(b"[1}", 2, id="wrong bracket"),
        pytest.param(b"[1] // x", 4, id="comment"),
    ],
)
def test_what_is_no_json_is_named_with_its_byte_offset(raw: bytes, offset: int):
    with pytest.raises(NotJson) as caught:
        parse(raw)
    assert caught.value.offset == offset
    assert caught.value.problem
    assert not caught.value.problem.endswith(" at"), "where is said apart"


@pytest.mark.parametrize(
    "raw", [b"[1,]", b'{"a":1,}', b"[,1]", b"[", b'{"a":', b'{"a":1', b'"\\u12"', b'"\\']
)
def test_what_is_cut_short_or_ends_in_a_comma_is_no_json(raw: bytes):
    with pytest.raises(NotJson) as caught:
        parse(raw)
    assert 0 <= caught.value.offset <= len(raw)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b'{"a":1,"a":2}', id="twice"),
        pytest.param(b'{"a":1,"a":1}', id="twice with one value"),
        pytest.param(b'{"a":1,"b":2,"\\u0061":3}', id="equal only after unescaping"),
        pytest.param(b'{"\\ud83d\\ude00":1,"\xf0\x9f\x98\x80":2}', id="pair and character"),
        pytest.param(b'{"":1,"":2}', id="empty key"),
        pytest.param(b'[{"x":[{"a":1,"b":{"c":1,"c":1}}]}]', id="deep inside"),
        pytest.param(b'{"a":1,"\\ud800":1,"a":2}', id="after half a pair"),
    ],
)
def test_a_key_that_stands_twice_has_no_single_reading(raw: bytes):
    with pytest.raises(Unrepresentable, match="twice"):
        parse(raw)


def test_the_same_key_in_two_objects_is_fine():
    assert canonicalize(b'[{"a":1},{"a":{"a":2}}]') == b'[{"a":1},{"a":{"a":2}}]'


@pytest.mark.parametrize("literal", [b"NaN", b"Infinity", b"-Infinity"])
@pytest.mark.parametrize("frame", [b"%s", b"[1, %s]", b'{"a": %s}'])
def test_numbers_that_are_none_are_refused(literal: bytes, frame: bytes):
    with pytest.raises(Unrepresentable, match="NaN or infinite"):
        parse(frame % literal)


@pytest.mark.parametrize(
    "string",
    [
        rb"\ud800",
        rb"\udfff",
        rb"\uDBFF!",
        rb"\ud83d\u0041",
        rb"\ude00\ud83d",
        rb"\ud83d\ud83d\ude00",
        rb"\ud83d\ude00\ude00",
        rb"\\\ud83d",
        rb"\ud83d\\ude00",
        rb"\ud83d\\\ude00",
        rb"\ud83d \ude00",
    ],
)
def test_half_a_surrogate_pair_is_refused(string: bytes):
    for raw in (b'"%s"' % string, b'{"%s":1}' % string):
        with pytest.raises(Unrepresentable, match="surrogate"):
            parse(raw)


@pytest.mark.parametrize(
    ("raw", "want"),
    [
        (rb'"\ud83d\ude00"', '"😀"'),
        (rb'"\\ud83d"', r'"\\ud83d"'),
        (rb'"\uDBFF\uDFFF"', '"\U0010ffff"'),
        (rb'"\ud7ff\ue000\uffff"', '"\ud7ff\ue000\uffff"'),
    ],
)
def test_whole_pairs_and_escaped_backslashes_are_fine(raw: bytes, want: str):
    assert canonicalize(raw) == want.encode()


def test_strings_of_a_document_that_the_fast_parser_cannot_read_are_judged_alike():
    zero = b"0e99999999999999999999"
    assert canonicalize(rb'["\\ud83d","\ud83d\ude00",%s]' % zero) == '["\\\\ud83d","😀",0]'.encode()
    with pytest.raises(Unrepresentable, match="surrogate"):
        parse(rb'["\\\ud83d",%s]' % zero)


def test_a_byte_order_mark_is_called_by_its_name():
    with pytest.raises(NotJson, match="not JSON at byte 0: a byte order mark"):
        parse(b"\xef\xbb\xbf{}")


@pytest.mark.parametrize("half", ["\ud800", "a\udfff", "\ude00\ud83d"])
def test_half_a_pair_in_a_tree_is_refused(half: str):
    for tree in (half, [half], {half: 1}, {"a": {"b": half}}, {"\U0001f600": half, "\uffff": 1}):
        with pytest.raises(Unrepresentable):
            encode(tree)


# RFC 8785, appendix B: IEEE 754 bits and the ECMAScript form.
APPENDIX_B = [
    ("0000000000000000", "0"),
    ("8000000000000000", "0"),
    ("0000000000000001", "5e-324"),
    ("8000000000000001", "-5e-324"),
    ("7fefffffffffffff", "1.7976931348623157e+308"),
    ("ffefffffffffffff", "-1.7976931348623157e+308"),
    ("4340000000000000", "9007199254740992"),
    ("c340000000000000", "-9007199254740992"),
    ("4430000000000000", "295147905179352830000"),
    ("44b52d02c7e14af5", "9.999999999999997e+22"),
    ("44b52d02c7e14af6", "1e+23"),
    ("44b52d02c7e14af7", "1.0000000000000001e+23"),
    ("444b1ae4d6e2ef4e", "999999999999999700000"),
    ("444b1ae4d6e2ef4f", "999999999999999900000"),
    ("444b1ae4d6e2ef50", "1e+21"),
    ("3eb0c6f7a0b5ed8c", "9.999999999999997e-7"),
    ("3eb0c6f7a0b5ed8d", "0.000001"),
    ("41b3de4355555553", "333333333.3333332"),
    ("41b3de4355555554", "333333333.33333325"),
    ("41b3de4355555555", "333333333.3333333"),
    ("41b3de4355555556", "333333333.3333334"),
    ("41b3de4355555557", "333333333.33333343"),
    ("becbf647612f3696", "-0.0000033333333333333333"),
    ("43143ff3c1cb0959", "1424953923781206.2"),
]


@pytest.mark.parametrize(("bits", "form"), APPENDIX_B)
def test_the_number_vectors_of_the_rfc(bits: str, form: str):
    (double,) = struct.unpack(">d", bytes.fromhex(bits))
    for spelt in (form, repr(double), f"{Decimal(double):.1200e}"):
        if abs(double) > MAX_INTEGER:
            with pytest.raises(Unrepresentable):
                canonicalize(spelt.encode())
        else:
            assert canonicalize(spelt.encode()) == form.encode()


def test_the_key_order_of_the_rfc_is_that_of_utf_16_code_units():
    raw = rb"""{
      "\u20ac": "Euro Sign",
      "\r": "Carriage Return",
      "\ufb33": "Hebrew Letter Dalet With Dagesh",
      "1": "One",
      "\ud83d\ude00": "Emoji: Grinning Face",
      "\u0080": "Control",
      "\u00f6": "Latin Small Letter O With Diaeresis"
    }"""
    assert canonicalize(raw).decode() == (
        '{"\\r":"Carriage Return","1":"One","\x80":"Control","ö":"Latin Small Letter O With Diaeresis",'
        '"€":"Euro Sign","😀":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}'
    )


@pytest.mark.parametrize(
    ("tree", "want"),
    [
        ({"\uffff": 1, "\U00010000": 2}, '{"\U00010000":2,"\uffff":1}'),
        ([{"a": {"\ue000": 1, "\U0010ffff": Decimal("0.50")}}], '[{"a":{"\U0010ffff":0.5,"\ue000":1}}]'),
        ({"x\uffff": 1, "x\U00010000": 2, "x": 3}, '{"x":3,"x\U00010000":2,"x\uffff":1}'),
        ({"\ud7ff": 1, "\U00010000": 2}, '{"\ud7ff":1,"\U00010000":2}'),
        ({"b": "\U0001f600", "a": "\uffff"}, '{"a":"\uffff","b":"\U0001f600"}'),
        ({"b": 1, "a": 2, "": 3, "B": 4, "aa": 5}, '{"":3,"B":4,"a":2,"aa":5,"b":1}'),
    ],
)
def test_keys_on_both_sides_of_the_surrogates(tree: dict[str, object], want: str):
    assert encode(tree).decode() == want


def test_the_sample_of_the_rfc():
    raw = rb"""{
      "numbers": [333333333.33333329, 4.50, 2e-3, 0.000000000000000000000000001],
      "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
      "literals": [null, true, false]
    }"""
    assert canonicalize(raw).decode() == (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )


def test_only_what_must_be_is_escaped():
    short = {8: "\\b", 9: "\\t", 10: "\\n", 12: "\\f", 13: "\\r", 34: '\\"', 92: "\\\\"}
    for code in [*range(0x300), 0x2028, 0x2029, 0xD7FF, 0xE000, 0xFEFF, 0xFFFE, 0xFFFF, 0x10000, 0x10FFFF]:
        want = short.get(code) or (f"\\u{code:04x}" if code < 0x20 else chr(code))
        assert encode(chr(code)) == f'"{want}"'.encode()
        assert encode({chr(code): 1}) == f'{{"{want}":1}}'.encode()
        assert canonicalize(json.dumps(chr(code)).encode()) == f'"{want}"'.encode()


def _nested(levels: int, *, kind: str) -> bytes:
    opening, closing = {"array": (b"[", b"]"), "object": (b'{"a":', b"}"), "mixed": (b'[{"a":', b"}]")}[kind]
    repeats = levels // 2 if kind == "mixed" else levels
    return opening * repeats + b"1" + closing * repeats


@pytest.mark.parametrize("kind", ["array", "object", "mixed"])
def test_128_levels_are_read_and_more_are_not(kind: str):
    assert canonicalize(_nested(MAX_DEPTH, kind=kind)) == _nested(MAX_DEPTH, kind=kind)
    for levels in (130, 200, 202, 254, 256, 1_000, 40_000):
        with pytest.raises(Unrepresentable, match="levels"):
            parse(_nested(levels, kind=kind))


def test_the_129th_level_is_refused_wherever_it_is():
    deep = _nested(128, kind="array")
    for raw in (b"[%s]", b"[1,[],%s]", b'{"a":{},"b":%s,"c":1}', b'[[],"]",%s,[]]'):
        with pytest.raises(Unrepresentable, match="levels"):
            parse(raw % deep)
    beside = b"[[],[{}],%s]" % deep[1:-1]
    assert canonicalize(beside) == beside


def test_brackets_that_do_not_nest_are_no_depth():
    for raw in (
        b'"' + b"[{" * 1_000 + b'"',
        b"[" + b",".join([b"[]"] * 1_000) + b"]",
        b'{"[[[\\"[[[":"' + b"{" * 500 + b'"}',
    ):
        assert canonicalize(raw) == raw
    with pytest.raises(Unrepresentable, match="twice"):
        parse(b'{"a":"' + b"[" * 1_000 + b'\\\\","a":"' + b'\\"{' * 1_000 + b'"}')


@pytest.mark.parametrize("raw", [b"[" * 100_000, b'{"a":' * 100_000, b"[" * 150 + b"?"])
def test_deep_documents_that_are_broken_too_do_no_harm(raw: bytes):
    outcome: list[Exception] = []

    def read() -> None:
        try:
            parse(raw)
        except (NotJson, Unrepresentable) as refusal:
            outcome.append(refusal)

    threading.stack_size(256 * 1024)  # a worker's stack may be small
    try:
        thread = threading.Thread(target=read)
        thread.start()
    finally:
        threading.stack_size(0)
    thread.join()
    assert len(outcome) == 1


@pytest.mark.parametrize(
    "raw",
    [
        b'{"a":1,"a":2',
        b'{"a":1,"a":2,}',
        b"[NaN, Infinity, ?]",
        b'["\\ud800", 01]',
        b"[1e999 1]",
        b"[" + b"9" * 5_000 + b"}",
        b'{"a":1,"a":2} \xff',
    ],
)
def test_what_is_broken_is_no_json_whatever_else_it_holds(raw: bytes):
    with pytest.raises(NotJson):
        parse(raw)


@pytest.mark.timeout(30)
@pytest.mark.parametrize(
    ("literal", "want"),
    [
        (b"9" * MEBI, None),
        (b"9" * MEBI + b".5", None),
        (b"1" + b"0" * MEBI + b"e-1048576", b"1"),
        (b"0." + b"3" * MEBI, b"0.3333333333333333"),
        (b"0." + b"0" * MEBI + b"1", None),
        (b"1e" + b"9" * MEBI, None),
        (b"1e-" + b"9" * MEBI, None),
        (b"1e" + b"0" * MEBI + b"1", b"10"),
        (b"1." + b"0" * MEBI + b"1", b"1"),
    ],
    ids=lambda case: (case or b"refused")[:12].decode(),
)
def test_a_literal_of_a_mebibyte_is_read_in_linear_time(literal: bytes, want: bytes | None):
    raw = b"[" + literal + b"]"
    if want is None:
        with pytest.raises(Unrepresentable):
            canonicalize(raw)
    else:
        assert canonicalize(raw) == b"[" + want + b"]"


def test_numbers_are_integers_or_exact_decimals():
    tree = parse(b"[1, -0, 1.0, 0.10, 1e2, 9007199254740993]")
    assert tree == [1, 0, 1, Decimal("0.1"), 100, 9007199254740993]
    assert isinstance(tree, list)
    assert [type(number) for number in tree] == [int, int, Decimal, Decimal, Decimal, int]


def test_a_number_that_the_caller_drops_is_not_looked_at():
    tree = parse(b'{"keep":1,"drop":[1e999,9007199254740993,%s]}' % (b"9" * 5_000))
    assert isinstance(tree, dict)
    del tree["drop"]
    assert encode(tree) == b'{"keep":1}'


@pytest.mark.parametrize("number", ["NaN", "sNaN", "Infinity", "-Infinity"])
def test_decimals_that_no_json_holds_are_refused(number: str):
    with pytest.raises(Unrepresentable):
        encode([Decimal(number)])


def test_what_is_no_json_value_is_refused():
    for stranger in (object(), b"bytes", {1, 2}, 1j):
        with pytest.raises(Unrepresentable):
            encode([stranger])  # type: ignore[list-item]
    with pytest.raises(Unrepresentable):
        encode({1: 2})  # type: ignore[dict-item]


def test_a_refusal_tells_nothing_of_the_content():
    for raw in (b'{"secret":1,"secret":2}', b'{"a":"secret\\ud800"}', b'["secret", 1e999]', b'["secret" 1]'):
        with pytest.raises((NotJson, Unrepresentable)) as caught:
            canonicalize(raw)
        assert "secret" not in str(caught.value)
        assert caught.value.__cause__ is None


def test_no_text_of_a_prompt_stays_in_the_parser_s_cache():
    jiter.cache_clear()
    parse(b'["a word of a prompt"]')
    assert jiter.cache_usage() == 0
