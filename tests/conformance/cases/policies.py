"""What a rule lets into the key, and that no two policies share entries."""

from __future__ import annotations

from conformance.cases.case import HI, Case, body, chat, exactly, said

TREE = {"model": "gpt-4o", "messages": HI, "temperature": 0}
ASKED = {"requested": {"provider": "router", "model": "auto"}}
ROUTE = {"routeId": "r1", "routeVersion": "3", "ruleBranch": "cheap"}
USAGE = {"stream_options": {"include_usage": True}}


def asked(rule, name, why, *others, same=(), **changes):
    given = body(TREE, **{**ASKED, **changes})
    return Case(name, why, given, rule, apart=exactly(*others), same=exactly(*same))


CASES = [
    asked("target", "target", "Under `target` the key names what was asked for.", "plain"),
    asked(
        "target",
        "target_served_elsewhere",
        "Then it does not matter who serves.",
        same=["target"],
        served={"provider": "azure", "model": "gpt-4o"},
    ),
    asked("target", "target_unserved", "Nor whether that is known yet.", same=["target"], served=None),
    asked(
        "target",
        "target_other",
        "Another target is another request.",
        "target",
        requested={"provider": "router", "model": "best"},
    ),
    asked("target", "target_route", "The route is in the material.", "target", **ROUTE),
    asked(
        "target",
        "target_route_version",
        "A route of another version is another.",
        "target_route",
        **{**ROUTE, "routeVersion": "4"},
    ),
    asked(
        "target",
        "target_branch",
        "Another branch is another route.",
        "target_route",
        **{**ROUTE, "ruleBranch": "dear"},
    ),
    asked(
        "target",
        "target_branch_alone",
        "A branch without a route counts too.",
        "target",
        "target_route",
        ruleBranch="cheap",
    ),
    asked(
        "both", "both", "Under `both` the key names the served and the requested target.", "plain", "target"
    ),
    asked(
        "both",
        "both_served_elsewhere",
        "Who serves counts.",
        "both",
        served={"provider": "azure", "model": "gpt-4o"},
    ),
    asked(
        "both",
        "both_other_target",
        "What was asked for counts.",
        "both",
        requested={"provider": "router", "model": "best"},
    ),
    asked("both", "both_route", "The route counts.", "both", **ROUTE),
    Case(
        "shared_stream_json",
        "Under `stream: shared` both shapes have one key.",
        body(TREE),
        "shared-stream",
        apart=exactly("plain"),
    ),
    Case(
        "shared_stream",
        "Under `stream: shared` both shapes have one key.",
        body({**TREE, "stream": True}),
        "shared-stream",
        same=exactly("shared_stream_json"),
    ),
    Case(
        "shared_stream_options",
        "Then the options of a stream leave the params.",
        body({**TREE, "stream": True, **USAGE}),
        "shared-stream",
        same=exactly("shared_stream_json"),
    ),
    Case(
        "separate_stream_options",
        "Otherwise they are keyed.",
        body({**TREE, "stream": True, **USAGE}),
        apart=exactly("stream"),
    ),
    Case(
        "class",
        "Under `params: class` known params are keyed.",
        chat(top_p=1, seed=3),
        "class",
        apart=exactly("plain"),
    ),
    Case(
        "class_other",
        "Under `params: class` known params are keyed.",
        chat(top_p=1, seed=4),
        "class",
        apart=exactly("class"),
    ),
    Case(
        "class_plain",
        "A class is another policy even where it keys the same.",
        chat(),
        "class",
        apart=exactly("plain"),
    ),
    Case(
        "class_usage",
        "Asking for usage at the end of a stream is in the class.",
        body({**TREE, "stream": True, **USAGE}),
        "class",
    ),
    Case(
        "ignore_user",
        "A rule may leave params out of the key.",
        chat(user="ada"),
        "ignore-user",
        apart=exactly("user"),
    ),
    Case(
        "ignore_other_user",
        "Then their values do not count.",
        chat(user="ben"),
        "ignore-user",
        same=exactly("ignore_user"),
    ),
    Case(
        "ignore_no_user",
        "Nor their absence.",
        chat(),
        "ignore-user",
        same=exactly("ignore_user"),
        apart=exactly("plain"),
    ),
    Case(
        "ignore_user_inside",
        "A member of that name inside a parameter is content.",
        chat(x={"user": "ada"}),
        "ignore-user",
        apart=exactly("ignore_user"),
    ),
    Case(
        "ignore_two",
        "Ignoring more is another policy.",
        chat(),
        "ignore-two",
        apart=exactly("ignore_no_user"),
    ),
    Case(
        "ignore_two_reversed",
        "The order in which a rule lists them does not count.",
        chat(),
        "ignore-two-reversed",
        same=exactly("ignore_two"),
    ),
    Case("no_guard", "Without the guard every white space folds.", said("- a\n\n- b"), "no-guard"),
    Case(
        "no_guard_folded",
        "Without the guard every white space folds.",
        said("- a - b"),
        "no-guard",
        same={"normalized": ["no_guard"]},
        apart={"exact": ["no_guard"]},
    ),
    Case(
        "no_guard_plain",
        "The guard is part of the normalized policy alone.",
        chat(),
        "no-guard",
        same={"exact": ["plain"]},
        apart={"normalized": ["plain"]},
    ),
    Case("case_fold", "A rule may fold letter case.", said("Stra\u00dfe  HI"), "case-fold"),
    Case(
        "case_folded",
        "Case folding is Unicode's.",
        said("STRASSE hi"),
        "case-fold",
        same={"normalized": ["case_fold"]},
        apart={"exact": ["case_fold"]},
    ),
    Case("case_fold_params", "Only prose is folded.", chat(stop="A"), "case-fold"),
    Case(
        "case_fold_params_lower",
        "Only prose is folded.",
        chat(stop="a"),
        "case-fold",
        apart=exactly("case_fold_params"),
    ),
    Case(
        "case_fold_plain",
        "Case folding is part of the normalized policy alone.",
        chat(),
        "case-fold",
        same={"exact": ["plain"]},
        apart={"normalized": ["plain"]},
    ),
    Case(
        "sampled",
        "Which requests are looked up at all is no part of the key.",
        body({"model": "gpt-4o", "messages": HI}),
        "sampled",
    ),
    Case(
        "sampled_plain",
        "Which requests are looked up at all is no part of the key.",
        chat(),
        "sampled",
        same=exactly("plain"),
        apart=exactly("sampled"),
    ),
]
