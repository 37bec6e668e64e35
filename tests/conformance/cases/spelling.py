"""One JSON document has many spellings and one key; another document has another."""

from __future__ import annotations

from conformance.cases.case import Case, body, chat, exactly, said

HEAD = '{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],'


def number(literal):
    return body(HEAD + '"temperature":0,"x":' + literal + "}")


def numbers(name, literals):
    """Cases of one number in several spellings: the first is the measure of the others."""
    first = f"{name}_0"
    yield Case(first, "The plain spelling of a number.", number(literals[0]))
    for at, literal in enumerate(literals[1:], 1):
        why = f"The same number, spelt {literal}."
        yield Case(f"{name}_{at}", why, number(literal), same=exactly(first))


def near(name, literal, other, why):
    yield Case(name, why, number(literal), apart=exactly(other))


def text(raw):
    """A user text, spelt in JSON as given."""
    return body('{"model":"gpt-4o","temperature":0,"messages":[{"role":"user","content":"' + raw + '"}]}')


COMPOSED, DECOMPOSED = "caf\u00e9", "cafe\u0301"

CASES = [
    Case(
        "white_space_between_tokens",
        "White space outside strings is no content.",
        body(
            b'{\t"model" : "gpt-4o",\r\n"messages":[ {"role":"user", "content":"hi"}],\n "temperature":0 } '
        ),
        same=exactly("plain"),
    ),
    Case(
        "key_order",
        "Mobile clients shuffle keys.",
        body('{"temperature":0,"messages":[{"content":"hi","role":"user"}],"model":"gpt-4o"}'),
        same=exactly("plain"),
    ),
    Case(
        "key_order_utf16",
        "Keys are sorted by UTF-16 code units: U+1F600 comes before U+FB33.",
        body(
            HEAD
            + '"temperature":0,'
            + '"x":{"\ufb33":1,"\U0001f600":2,"\u20ac":3,"\\r":4,"1":5,"\u0080":6,"\u00f6":7}}'
        ),
    ),
    Case(
        "key_order_utf16_shuffled",
        "The same keys in another order.",
        body(
            HEAD
            + '"x":{"1":5,"\u00f6":7,"\u20ac":3,"\U0001f600":2,"\\r":4,"\ufb33":1,"\u0080":6},'
            + '"temperature":0}'
        ),
        same=exactly("key_order_utf16"),
    ),
    Case("array_order", "The order of an array is content.", number('["a","b"]')),
    Case(
        "array_order_reversed",
        "The order of an array is content.",
        number('["b","a"]'),
        apart=exactly("array_order"),
    ),
    *numbers("one", ["1", "1.0", "1e0", "10e-1", "0.1E+1", "1.000", "1E-0", "100e-2"]),
    *numbers("zero", ["0", "-0", "0.0", "-0.0", "0e10", "0e-400"]),
    *numbers("fraction", ["0.2", "2e-1", "0.20", "20E-2", "0.2e0", "0.0002e3"]),
    *numbers("large", ["9007199254740991", "9007199254740991.0", "9.007199254740991e15"]),
    *numbers("largest_negative", ["-9007199254740991", "-9007199254740991e0"]),
    *numbers("million", ["1000000", "1e6", "1E+06", "1000000.0"]),
    *numbers("tiny", ["1e-7", "0.0000001", "1.0E-07", "10e-8"]),
    *numbers("small", ["0.000001", "1e-6", "0.1e-5"]),
    *numbers("rounded", ["0.1", "0.1000000000000000055511151231257827", "0.10000000000000000"]),
    *numbers("denormal", ["5e-324", "4.9406564584124654e-324", "4.9e-324"]),
    *numbers("half", ["4503599627370495.5", "45035996273704955e-1"]),
    *near("fraction_next", "0.2000001", "fraction_0", "A number that is nearly the same is another."),
    *near("fraction_as_string", '"0.2"', "fraction_0", "A string is no number."),
    *near("one_as_true", "true", "one_0", "A boolean is no number."),
    *near("zero_as_false", "false", "zero_0", "A boolean is no number."),
    *near("zero_as_empty", '""', "zero_0", "An empty string is no number."),
    *near("minus_one", "-1", "one_0", "The sign counts."),
    *near("half_next", "4503599627370494.5", "half_0", "Neighbouring doubles are two numbers."),
    Case("escapes_plain", "A text without escapes.", text("a/b\u00e9\u20ac\U0001f600")),
    Case(
        "escapes_lower",
        "The same text, escaped.",
        text(r"\u0061\/b\u00e9\u20ac\ud83d\ude00"),
        same=exactly("escapes_plain"),
    ),
    Case(
        "escapes_upper",
        "Hexadecimal digits know no case.",
        text(r"\u0061/b\u00E9\u20AC\uD83D\uDE00"),
        same=exactly("escapes_plain"),
    ),
    Case(
        "escapes_of_keys",
        "Keys may be escaped too.",
        body(r'{"model":"gpt-4o","\u006dessages":[{"r\u006fle":"user","content":"hi"}],"temperature":0}'),
        same=exactly("plain"),
    ),
    Case(
        "controls_short",
        "Control characters in their short escapes.",
        text(r"a\b\f\n\r\tb"),
        skipped={"normalized": "WHITESPACE_SIGNIFICANT"},
    ),
    Case(
        "controls_long",
        "Control characters as code points.",
        text(r"a\u0008\u000c\u000a\u000d\u0009b"),
        skipped={"normalized": "WHITESPACE_SIGNIFICANT"},
        same={"exact": ["controls_short"]},
    ),
    Case(
        "controls_rare",
        "Control characters without a short escape stay escaped in the canonical form.",
        text(r"a\u0000\u0001\u001f\u007fb"),
    ),
    Case("quotes_and_backslashes", "Quote marks and backslashes stay escaped.", text(r"a\"b\\c")),
    Case(
        "quotes_and_backslashes_as_code_points",
        "The same, escaped otherwise.",
        text(r"a\u0022b\u005cc"),
        same=exactly("quotes_and_backslashes"),
    ),
    Case("nfc", "A composed letter.", said(COMPOSED)),
    Case(
        "nfd",
        "The same letter decomposed is another text: Unicode form stays.",
        said(DECOMPOSED),
        apart=exactly("nfc"),
    ),
    Case(
        "fullwidth",
        "Letters that look alike are others.",
        said("\uff43\uff41\uff46\u00e9"),
        apart=exactly("nfc"),
    ),
    Case("line_separator", "U+2028 is written as it is.", said("a\u2028b")),
    Case(
        "noncharacters", "Every Unicode scalar value may stand in a text.", said("a\uffff\U0010ffff\ue000b")
    ),
    Case(
        "zero_width", "U+200B is neither white space nor nothing.", said("a\u200bb"), apart=exactly("plain")
    ),
    Case(
        "byte_order_mark_inside", "U+FEFF in a string is content.", said("\ufeffhi"), apart=exactly("plain")
    ),
    Case("upper_case", "Letter case is content.", said("Hi"), apart=exactly("plain")),
    Case(
        "text_that_looks_like_a_param",
        "No text can imitate a parameter.",
        said('hi","temperature":0,"x":"'),
        apart=exactly("plain"),
    ),
    Case("nested_as_text", "A document and its text are two things.", chat(x='{"a":1}')),
    Case(
        "nested_as_document",
        "A document and its text are two things.",
        chat(x={"a": 1}),
        apart=exactly("nested_as_text"),
    ),
    Case("empty_object", "An empty object is not absent.", chat(x={}), apart=exactly("plain")),
    Case(
        "empty_array",
        "An empty array is no empty object.",
        chat(x=[]),
        apart=exactly("plain", "empty_object"),
    ),
    Case(
        "deep",
        "128 levels of nesting have a canonical form.",
        body(HEAD + '"temperature":0,"x":' + "[" * 127 + "]" * 127 + "}"),
    ),
]
