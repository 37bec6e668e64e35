"""What is kept of a request to explain later misses by: digests under a key, few and small."""

from __future__ import annotations

import pytest

from askonce_server.core.descriptor import Digests, Facts
from askonce_server.core.outline import Part, Place, names, read, unlike, with_embedder
from askonce_server.service.guard_key import GuardKey
from core.builders import content, descriptor, plan, rule

TOKEN, OTHER = GuardKey(b"g" * 32), GuardKey(b"h" * 32)
MARK = "marked-text"


def outline(token=TOKEN, under=None, **changes):
    return plan(descriptor(**changes), under).derivation.outline(token)


def parts(kept):
    return {place.part for place in read(kept, TOKEN)}


def test_every_segment_has_a_digest_and_nothing_is_told_of_what_it_says():
    messages = [{"role": "user", "content": MARK}, {"role": "user", "content": MARK + "2"}]
    given = content(messages, system=MARK, tools=[{"type": "function", "name": MARK}], user=MARK)
    kept = outline(content=given, headers={"h": MARK}, versions={MARK: "1"})
    assert parts(kept) == set(Part) - {Part.ROUTE, Part.FURTHER, Part.EMBEDDER, Part.DIGESTS}
    assert MARK.encode() not in kept
    assert len(kept) < 250


def test_digests_are_made_under_the_key():
    assert set(read(outline(), TOKEN).values()).isdisjoint(read(outline(OTHER), OTHER).values())


def test_an_outline_is_made_anew_under_another_key_and_kept_under_the_same():
    derivation = plan(descriptor()).derivation
    first = derivation.outline(TOKEN)
    derivation.forget()
    assert derivation.outline(TOKEN) is first
    assert derivation.outline(OTHER) == outline(OTHER)


def test_what_spelling_and_ignored_params_change_is_not_in_it():
    one = content(params={"temperature": 0, "metadata": {"a": 1}, "user": "ann"})
    other = content(params={"temperature": 0.0, "user": "bob"})
    ignoring = rule(ignore_params=("user",))
    assert outline(under=ignoring, content=one) == outline(under=ignoring, content=other)


def test_an_outline_is_bounded_and_tells_all_the_same_what_is_beyond():
    many = {"temperature": 0} | {f"p{at:03}": at for at in range(1000)}
    last = many | {"p999": -1}
    kept, changed = outline(content=content(params=many)), outline(content=content(params=last))
    assert len(kept) < 700
    apart = unlike(read(kept, TOKEN), read(changed, TOKEN), names(many, TOKEN))
    assert [one.part for one in apart] == [Part.FURTHER]


def test_names_are_found_again_where_they_are_known_or_usual():
    kept = outline(content=content(top_p=1, novel=2, odd=3))
    apart = unlike(read(outline(), TOKEN), read(kept, TOKEN), names(["novel"], TOKEN))
    assert {one.name for one in apart} == {"top_p", "novel", ""}
    assert all((one.mine, one.kept) == (False, True) for one in apart)


def test_an_embedder_counts_only_where_both_have_one():
    plain = outline()
    one, other = (with_embedder(plain, bytes([at]) * 32, TOKEN) for at in (1, 2))
    assert unlike(read(plain, TOKEN), read(one, TOKEN), {}) == []
    assert [each.part for each in unlike(read(one, TOKEN), read(other, TOKEN), {})] == [Part.EMBEDDER]


def test_digests_stand_for_the_content():
    facts = Facts(sampling=False, remote_content=False, stateful=False, personalized=False)
    kept = outline(content=Digests(b"e" * 32, b"n" * 32, "own", "1", facts))
    assert Part.DIGESTS in parts(kept)
    assert Part.LAST not in parts(kept)


@pytest.mark.parametrize("damaged", [b"", b"\x02" + outline()[1:], outline()[:-1], outline(OTHER)])
def test_another_layout_or_key_and_a_damaged_one_tell_nothing(damaged):
    assert read(damaged, TOKEN) == {}


def test_a_part_of_a_later_version_is_passed_over():
    known = read(outline(), TOKEN)
    assert read(outline() + b"\xfe" + bytes(8), TOKEN) == known
    assert Place(Part.MODEL) in known


def test_policies_are_told_apart():
    apart = unlike(read(outline(), TOKEN), read(outline(under=rule(case_fold=True)), TOKEN), {})
    assert [one.part for one in apart] == [Part.NORMALIZED_POLICY]
