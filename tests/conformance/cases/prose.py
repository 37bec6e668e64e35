"""The normalized profile: white space folds in prose alone, and not where it may carry meaning."""

from __future__ import annotations

from conformance.cases.case import HI, Case, chat, embeddings, messages, responses, said
from conformance.reference import WHITE_SPACE

MATTERS = {"normalized": "WHITESPACE_SIGNIFICANT"}
PLAIN = {"exact": ["prose"]}
QUESTION = "what is this"
CALL = {"id": "c", "type": "function", "function": {"name": "f", "arguments": '{"q": 1}'}}


def same(name, why, given, *others):
    """White space that folds: another exact entry, the same normalized one."""
    return Case(
        name, why, given, apart={"exact": others or ["prose"]}, same={"normalized": others or ["prose"]}
    )


def differs(name, why, given, *others):
    return Case(name, why, given, apart={"exact": others or ["prose"], "normalized": others or ["prose"]})


def matters(name, text):
    why = "White space may carry meaning here, so the normalized matcher is skipped."
    return Case(f"guard_{name}", why, said(text), skipped=MATTERS)


def folds(name, text, folded):
    why = "White space means nothing here and folds."
    yield Case(f"fold_{name}_plain", why, said(folded))
    yield same(f"fold_{name}", why, said(text), f"fold_{name}_plain")


def toolish(output):
    return chat(
        [
            *HI,
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "c", "content": output},
        ]
    )


def claude(system, text, result):
    return messages(
        {
            "system": system,
            "messages": [
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": text},
                        {
                            "type": "tool_result",
                            "tool_use_id": "t",
                            "content": [{"type": "text", "text": result}],
                        },
                    ],
                }
            ],
        }
    )


CASES = [
    Case("prose", "A question without white space to fold.", said(QUESTION)),
    *(
        same(
            f"space_{point:04x}",
            "Each of the 25 white space code points folds.",
            said(f"what{chr(point) * 2}is this"),
        )
        for point in sorted(WHITE_SPACE)
        if point not in (0x0A, 0x0B, 0x0C, 0x0D, 0x85, 0x2028, 0x2029)
    ),
    *(
        same(f"break_{name}", "One line break inside a text folds.", said(f"what{mark}is this"))
        for name, mark in (
            ("lf", "\n"),
            ("vt", "\v"),
            ("ff", "\f"),
            ("cr", "\r"),
            ("crlf", "\r\n"),
            ("nel", "\x85"),
            ("ls", "\u2028"),
            ("ps", "\u2029"),
        )
    ),
    same("ends", "White space at the ends is stripped.", said(" \n what is this\t\u3000")),
    *(
        differs(
            f"no_space_{point:04x}",
            "A look-alike of white space is content.",
            said(f"what{chr(point)}is this"),
        )
        for point in (0x1C, 0x1D, 0x1E, 0x1F, 0x180E, 0x200B, 0x2060, 0xFEFF)
    ),
    differs("joined", "No white space is not some white space.", said("whatis this")),
    differs("case", "Letter case is content.", said("What is this")),
    Case(
        "parts_prose",
        "Text parts are prose.",
        chat([{"role": "user", "content": [{"type": "text", "text": "a b"}, {"type": "text", "text": "c"}]}]),
    ),
    same(
        "parts_prose_spaced",
        "Text parts are prose.",
        chat(
            [{"role": "user", "content": [{"type": "text", "text": " a  b"}, {"type": "text", "text": "c "}]}]
        ),
        "parts_prose",
    ),
    differs(
        "parts_prose_joined",
        "Parts are not joined.",
        chat([{"role": "user", "content": [{"type": "text", "text": "a b c"}]}]),
        "parts_prose",
    ),
    Case(
        "roles_plain",
        "System, developer, user and assistant turns are prose.",
        chat(
            [
                {"role": "system", "content": "a"},
                {"role": "developer", "content": "b"},
                {"role": "user", "content": "c d"},
                {"role": "assistant", "content": "e f"},
                {"role": "user", "content": "g"},
            ]
        ),
    ),
    same(
        "roles_spaced",
        "System, developer, user and assistant turns are prose.",
        chat(
            [
                {"role": "system", "content": " a"},
                {"role": "developer", "content": "b "},
                {"role": "user", "content": "c  d"},
                {"role": "assistant", "content": "e\u00a0f"},
                {"role": "user", "content": "g "},
            ]
        ),
        "roles_plain",
    ),
    Case(
        "begun_answer",
        "The model goes on from the last character of an assistant turn at the end.",
        chat([{"role": "user", "content": "a poem"}, {"role": "assistant", "content": "Roses,\n"}]),
        skipped=MATTERS,
    ),
    Case(
        "parts_seam",
        "Parts may be joined without anything between them.",
        chat([{"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "text", "text": " b"}]}]),
        skipped=MATTERS,
    ),
    Case("tool_turn", "The output of a tool is no prose.", toolish("a b")),
    differs("tool_turn_spaced", "The output of a tool is no prose.", toolish("a  b"), "tool_turn"),
    Case(
        "claude_prose",
        "A system prompt apart is prose, a tool result is not.",
        claude("Be brief.", "a b", "c d"),
    ),
    same(
        "claude_prose_spaced",
        "A system prompt apart is prose.",
        claude("Be  brief.", " a b", "c d"),
        "claude_prose",
    ),
    differs(
        "claude_result_spaced",
        "A tool result is no prose.",
        claude("Be brief.", "a b", "c  d"),
        "claude_prose",
    ),
    differs("stop_spaced", "Parameters are no prose.", chat(HI, stop="a  b"), "plain"),
    Case(
        "stop_single", "Parameters are no prose.", chat(HI, stop="a b"), apart={"normalized": ["stop_spaced"]}
    ),
    differs(
        "name_spaced",
        "Other members of a turn are no prose.",
        chat([{"role": "user", "content": "hi", "name": "a "}]),
        "plain",
    ),
    Case("bare_prose", "A bare input of a response is a user turn.", responses({"input": "a b"})),
    same(
        "bare_prose_spaced",
        "A bare input of a response is a user turn.",
        responses({"input": " a  b "}),
        "bare_prose",
    ),
    Case("embedded", "The input of embeddings is no prose.", embeddings({"input": "a b"})),
    differs(
        "embedded_spaced", "The input of embeddings is no prose.", embeddings({"input": "a  b"}), "embedded"
    ),
    *folds("apostrophe", "it's  mine", "it's mine"),
    *folds("behind_quotes", 'he said "one two"  and left', 'he said "one two" and left'),
    *folds("between_code", "use `a b`  or `c d`", "use `a b` or `c d`"),
    *folds("between_curly", "a “b c”  d “e”", "a “b c” d “e”"),
    *folds("number_inside", "the 2  apples", "the 2 apples"),
    *folds("dash_inside", "a - b  c", "a - b c"),
    *folds("three_spaces_before", "   a b", "a b"),
    matters("fence", "run ```x = 1``` now"),
    matters("tilde_fence", "~~~\nx\n~~~"),
    matters("indented", "    x = 1"),
    matters("indented_line", "see\n  x = 1"),
    matters("tab_line", "see\n\tx = 1"),
    matters("tab_first", "\tx = 1"),
    matters("two_breaks", "one\ntwo\nthree"),
    matters("paragraphs", "one\n\ntwo"),
    matters("digit", "1. first"),
    matters("digit_second_line", "see\n2) second"),
    matters("dash", "- item"),
    matters("star", "* item"),
    matters("bullet", "• item"),
    matters("plus", "+added"),
    matters("hunk", "@@ -1 +1 @@"),
    matters("pipe", "| a | b |"),
    matters("mail_quote", "> quoted"),
    matters("quote_first", '"quoted" text'),
    matters("double_quotes", 'count "a  b" please'),
    matters("single_quotes", "count 'a  b' please"),
    matters("back_ticks", "count `a  b` please"),
    matters("curly_quotes", "count “a  b” please"),
    matters("guillemets", "count «a  b» please"),
    matters("break_in_quotes", 'count "a\nb" please'),
    matters("speaks_of_spaces", "How many spaces are between a  b?"),
    matters("speaks_of_tokens", "Tokenize this:  foo bar"),
    matters("command", "What does cut -f2 print for a  b c"),
    matters("ends_of_characters", "How many characters has this: abc "),
    matters("verse", "Roses are red\nViolets are blue"),
    *folds("wrapped", "tell me\nwhat this is", "tell me what this is"),
    *folds("two_sentences", "This is it.\nWhat now?", "This is it. What now?"),
    Case(
        "guard_in_system",
        "One text that must not fold holds for the whole request.",
        chat([{"role": "system", "content": "- be brief\n- be kind"}, *HI]),
        skipped=MATTERS,
    ),
    Case("guard_not_in_tool", "What is no prose needs no guard.", toolish("- a\n\n- b")),
]
