"""Codes, scans and sketches by themselves."""

import subprocess
import sys
import threading

import numpy as np
import pytest

from askonce_server.index.candidates import NOTHING_BEYOND
from askonce_server.index.codes import Codes
from askonce_server.index.library import faiss
from askonce_server.index.rows import FLAT_ROWS, Rows, RowsBuilder
from askonce_server.index.scan import Scan, bits_for, sketchable
from askonce_server.index.sketch import Sketch
from askonce_server.ports import VectorBlock
from index.fake_store import clustered_vectors, random_vectors, unit

KINDS = {"random": random_vectors, "clustered": clustered_vectors}


def sketch(vectors):
    return Sketch.of(np.arange(1, len(vectors) + 1), Codes.of(vectors))


def exact(vectors, vector):
    return vectors.astype(np.float64) @ vector.astype(np.float64)


@pytest.mark.parametrize("kind", KINDS)
def test_the_score_of_a_code_is_off_by_less_than_its_margin(kind):
    vectors, probes = KINDS[kind](2000, 384), KINDS[kind](20, 384, seed=1)
    codes = Codes.of(vectors)
    off = [np.abs(codes.scores(probe, slice(None)) - exact(vectors, probe)).max() for probe in probes]
    assert max(off) < codes.margin < 0.005


def test_a_vector_of_zeros_has_a_code():
    codes = Codes.of(np.zeros((1, 64), np.float32))
    assert codes.scores(np.ones(64, np.float32), slice(None)).tolist() == [0]


@pytest.mark.parametrize(
    ("bits", "dim", "off"),
    [(4, dim, 0.14) for dim in (64, 65, 384, 1024)]
    + [(2, dim, 0.39) for dim in (64, 65, 67, 384, 2048)]
    + [(1, dim, 0.64) for dim in (67, 2049, 3072, 4096)],
)
def test_sketched_cosines_are_off_by_the_noise_of_their_bits(bits, dim, off):
    """`off` is in deviations of a random vector's cosine."""
    vectors, probes = random_vectors(1500, dim), random_vectors(8, dim, seed=1)
    scan = Scan(Codes.of(vectors), bits=bits)
    sketched, found = scan.best(probes, 500)
    for probe, scores, places in zip(probes, sketched, found, strict=True):
        assert len(set(places.tolist())) == 500
        assert (np.diff(scores) <= 0).all()
        errors = scores - exact(vectors[places] - scan._middle, probe)
        assert np.sqrt(np.mean(np.square(errors))) * np.sqrt(dim) < off


def test_which_sizes_are_sketched():
    assert [sketchable(dim) for dim in (1, 63, 64, 384, 4096, 4097)] == [
        False,
        False,
        True,
        True,
        True,
        False,
    ]


def test_with_how_many_bits_vectors_can_be_sketched():
    possible = {64: (2, 4), 1024: (2, 4), 1025: (2,), 2048: (2,), 2049: (1,), 4096: (1,)}
    assert {dim: bits_for(dim) for dim in possible} == possible


def test_vectors_that_are_hard_to_tell_apart_are_sketched_with_more_bits():
    bytes_of = {kind: sketch(make(6000, 384)).scan.used_bytes for kind, make in KINDS.items()}
    assert bytes_of["random"] == 2 * bytes_of["clustered"]


@pytest.fixture(scope="module")
def sketches():
    """Of each kind and number: the vectors, their sketch, and vectors to ask for."""
    return {
        (kind, count): (vectors := make(count, 128), sketch(vectors), make(50, 128, seed=1))
        for kind, make in KINDS.items()
        for count in (6000, 16_000)
    }


@pytest.mark.parametrize("effort", [1, 4])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [6000, 16_000])
def test_nothing_that_was_not_proposed_is_nearer_than_was_said(sketches, kind, count, effort):
    vectors, searched, probes = sketches[kind, count]
    for probe in probes:
        found = searched.search(probe, 10, effort)
        cosines = exact(vectors, probe)
        assert np.abs(found.scores - cosines[found.sequences - 1]).max() < found.margin
        assert (np.diff(found.scores) <= 0).all()
        tenth = np.sort(cosines[found.sequences - 1])[-10]
        cosines[found.sequences - 1] = -1
        assert cosines.max() <= found.beyond + 0.01  # one of many may be sketched worse than was thought
        assert found.beyond >= tenth or cosines.max() < tenth


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [6000, 16_000])
def test_the_first_effort_settles_most_searches(sketches, kind, count):
    vectors, searched, probes = sketches[kind, count]
    tenth = [np.sort(exact(vectors, probe))[-10] for probe in probes]
    beyond = [searched.search(probe, 10, 1).beyond for probe in probes]
    assert np.mean(np.array(beyond) < tenth) > 0.7


def test_of_thousands_of_searches_in_short_vectors_not_one_was_promised_too_much():
    """Where there are few dimensions what a sketch may be off has the least to average out over."""
    vectors = random_vectors(7500, 64, seed=2)
    searched = sketch(vectors)
    for make in KINDS.values():
        probes = make(4000, 64, seed=7)
        for probe, cosines in zip(probes, probes @ vectors.T, strict=True):
            found = searched.search(probe, 10, 1)
            cosines[found.sequences - 1] = -1
            assert cosines.max() <= found.beyond


def test_with_enough_effort_all_are_proposed():
    searched = sketch(random_vectors(5000, 64))
    found = searched.search(random_vectors(1, 64, seed=1)[0], 10, 1 << 10)
    assert found.beyond == NOTHING_BEYOND
    assert sorted(found.sequences.tolist()) == list(range(1, 5001))


@pytest.mark.parametrize(
    "vectors",
    [
        np.repeat(random_vectors(1, 64), 5000, axis=0),
        np.repeat(np.eye(64, dtype=np.float32), 80, axis=0),
        unit(np.ones((5000, 64)) + 1e-4 * random_vectors(5000, 64)),
    ],
    ids=["equal", "axes", "nearly equal"],
)
def test_what_is_hard_to_sketch_is_still_told_rightly(vectors):
    searched = sketch(vectors)
    for probe in (vectors[0], random_vectors(1, 64, seed=5)[0]):
        for effort in (1, 4, 16, 64, 256):
            found = searched.search(probe, 10, effort)
            others = np.delete(np.arange(len(vectors)), found.sequences - 1)
            assert exact(vectors[others], probe).max(initial=-1) <= max(found.beyond, -1)
        assert found.beyond == NOTHING_BEYOND


def blocks(vectors, *, size):
    numbers = np.arange(1, len(vectors) + 1)
    for at in range(0, len(vectors), size):
        yield VectorBlock(numbers[at : at + size], vectors[at : at + size])


@pytest.mark.parametrize("count", [0, 1, FLAT_ROWS, FLAT_ROWS + 1, 10_000])
def test_few_vectors_stay_as_they_are_and_many_are_sketched(count):
    builder = RowsBuilder(64)
    for block in blocks(random_vectors(count, 64), size=1000) if count else ():
        builder.add(block)
    rows = builder.finish()
    assert rows.count == count
    assert (rows.sketch is None) is (count <= FLAT_ROWS)
    assert not rows.overgrown


def test_short_vectors_are_never_sketched():
    builder = RowsBuilder(8)
    for block in blocks(random_vectors(10_000, 8), size=1000):
        builder.add(block)
    rows = builder.finish()
    assert (rows.sketch, rows.tail.count, rows.overgrown) == (None, 10_000, False)


def test_rows_are_overgrown_when_the_tail_is_an_eighth_of_the_sketch():
    vectors = random_vectors(40_000, 64)
    rows = Rows(sketch(vectors[:32_000]), Rows.empty(64).tail)
    for block in blocks(vectors[32_000:36_000], size=1000):
        rows = rows.extended(block)
    assert not rows.overgrown
    assert rows.extended(next(blocks(vectors[36_000:], size=1))).overgrown


def test_codes_and_sketches_take_two_fifths_of_the_memory():
    vectors = random_vectors(43_690, 384)
    plain = vectors.nbytes + 8 * len(vectors)
    assert sketch(vectors).used_bytes < plain * 0.4


def test_a_sketch_can_be_searched_by_many_threads():
    vectors = clustered_vectors(5000, 64)
    searched = sketch(vectors)
    probes = clustered_vectors(50, 64, seed=1)
    want = [searched.search(probe, 10, 1).sequences.tolist() for probe in probes]
    wrong = []

    def ask():
        for probe, numbers in zip(probes, want, strict=True):
            if searched.search(probe, 10, 1).sequences.tolist() != numbers:
                wrong.append(probe)

    threads = [threading.Thread(target=ask) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert wrong == []


def test_each_thread_that_uses_faiss_is_held_to_one():
    seen = []

    def look():
        seen.append(faiss().omp_get_max_threads())

    for _ in range(2):
        thread = threading.Thread(target=look)
        thread.start()
        thread.join(10)
    assert seen == [1, 1]


FRESH = """
import sys
from threading import Thread
from askonce_server.index.library import faiss
import askonce_server.app
assert "faiss" not in sys.modules
seen = [faiss().omp_get_max_threads()]
thread = Thread(target=lambda: seen.append(faiss().omp_get_max_threads()))
thread.start()
thread.join()
print(*seen)
"""


def test_faiss_is_imported_when_it_is_needed_and_never_takes_more_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "4")
    ran = subprocess.run(
        [sys.executable, "-c", FRESH], capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.stdout.split() == ["1", "1"], ran.stderr
