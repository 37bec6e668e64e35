"""Who may share an answer: dims, their order and values, namespaces and generations."""

from __future__ import annotations

from conformance.cases.case import HI, Case, body, exactly

TREE = {"model": "gpt-4o", "messages": HI, "temperature": 0}
NAMES = ("everything", "the model", "the dim value", "the whole scope")


def scoped(scope, **changes):
    return body(TREE, scope=scope, **changes)


def generations(*raised):
    return ["11" * 16 if at in raised else "00" * 16 for at in range(4)]


CASES = [
    Case(
        "other_tenant",
        "Another tenant's entry cannot be addressed.",
        scoped({"tenant": "globex"}),
        apart=exactly("plain"),
    ),
    Case(
        "unused_dim",
        "A dim that the rule does not use is ignored.",
        scoped({"tenant": "acme", "user": "ada"}),
        same=exactly("plain"),
    ),
    Case(
        "two_dims",
        "Every dim of the rule counts.",
        scoped({"tenant": "acme", "user": "ada"}),
        "two-dims",
        apart=exactly("plain"),
    ),
    Case(
        "two_dims_other_user",
        "Every dim of the rule counts.",
        scoped({"tenant": "acme", "user": "ben"}),
        "two-dims",
        apart=exactly("two_dims"),
    ),
    Case(
        "two_dims_map_order",
        "The order of the map does not count.",
        scoped({"user": "ada", "tenant": "acme"}),
        "two-dims",
        same=exactly("two_dims"),
    ),
    Case(
        "two_dims_reversed",
        "The rule's order does.",
        scoped({"tenant": "acme", "user": "ada"}),
        "two-dims-reversed",
        apart=exactly("two_dims"),
    ),
    Case(
        "swapped_values",
        "Values do not wander between dims.",
        scoped({"tenant": "ada", "user": "acme"}),
        "two-dims",
        apart=exactly("two_dims"),
    ),
    Case(
        "dims_split",
        "No split of the same letters over two dims may collide.",
        scoped({"tenant": "ab", "user": "c"}),
        "two-dims",
    ),
    Case(
        "dims_split_otherwise",
        "No split of the same letters over two dims may collide.",
        scoped({"tenant": "a", "user": "bc"}),
        "two-dims",
        apart=exactly("dims_split"),
    ),
    Case("star", "No value is a wildcard.", scoped({"tenant": "*"}), apart=exactly("plain")),
    Case("blank", "A value of white space is a value.", scoped({"tenant": " "}), apart=exactly("plain")),
    Case("upper", "Values know letter case.", scoped({"tenant": "Acme"}), apart=exactly("plain")),
    Case("long", "A value of 4096 bytes is hashed as it is.", scoped({"tenant": "a" * 4096})),
    Case("unicode", "Any Unicode is hashed as it is.", scoped({"tenant": "b\u00fccher\U0001f4da\u0000"})),
    Case(
        "unicode_decomposed",
        "Values keep their Unicode form.",
        scoped({"tenant": "bu\u0308cher\U0001f4da\u0000"}),
        apart=exactly("unicode"),
    ),
    Case(
        "shared", "A rule that says so is shared by all.", scoped({}), "shared-by-all", apart=exactly("plain")
    ),
    Case(
        "shared_by_acme",
        "Then nobody's dims count.",
        scoped({"tenant": "acme"}),
        "shared-by-all",
        same=exactly("shared"),
    ),
    Case(
        "namespace",
        "A namespace splits the scope further.",
        scoped({"tenant": "acme"}),
        namespace="blue",
        apart=exactly("plain"),
    ),
    Case(
        "other_namespace",
        "Each namespace is its own.",
        scoped({"tenant": "acme"}),
        namespace="green",
        apart=exactly("plain", "namespace"),
    ),
    Case(
        "namespace_is_no_dim",
        "A namespace and a dim of that value are two things.",
        scoped({"tenant": "acme", "user": "blue"}),
        "two-dims",
        apart=exactly("namespace"),
    ),
    *(
        Case(
            f"generation_{at}",
            f"Raising the generation of {name} makes every older entry unreachable.",
            scoped({"tenant": "acme"}),
            generations=generations(at),
            apart=exactly("plain", *(f"generation_{before}" for before in range(at))),
        )
        for at, name in enumerate(NAMES)
    ),
    Case(
        "generation_all",
        "Generations count one by one.",
        scoped({"tenant": "acme"}),
        generations=generations(0, 1, 2, 3),
        apart=exactly("plain", "generation_0"),
    ),
]
