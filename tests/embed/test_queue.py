"""No caller waits longer than it may, whatever the embedder behind the queue does."""

from __future__ import annotations

import threading
import time

import pytest

from askonce_server.calls.queue import Pace
from askonce_server.embed.queue import EmbedQueue
from askonce_server.ports import EmbedderFailed, OverBudget, TextTooLong
from embed.fakes import FakeEmbedder, soon

LATE = 0.02
"""How much later than its deadline a caller may be answered."""


@pytest.fixture
def gate():
    """What a hanging embedder waits for."""
    event = threading.Event()
    yield event
    event.set()


@pytest.fixture
def queue():
    """Make queues that end with the test."""
    made = []

    def make(work=lambda text: None, **options):
        made.append(EmbedQueue(FakeEmbedder(work), **options))
        return made[-1]

    yield make
    for one in made:
        one.close()


def ask(queue, text, outcomes, deadline=None):
    """Ask from a thread of its own; the outcome is appended."""

    def run():
        try:
            outcomes.append(queue.embed(text, deadline=deadline or soon()).tokens)
        except Exception as error:
            outcomes.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    return thread


def until(condition):
    for _ in range(5000):
        if condition():
            return
        time.sleep(0.001)
    raise AssertionError("it did not come about in 5 s")


def test_it_says_what_the_embedder_behind_it_says(queue):
    front = queue()

    assert (front.name, front.dim, front.fingerprint) == ("fake", 4, bytes(32))
    assert front.max_tokens == 7
    embedded = front.embed("abc", deadline=soon())
    assert embedded.vector.tolist() == [3, 0, 0, 0]
    assert embedded.tokens == 3


def test_a_caller_is_answered_by_its_deadline_while_the_embedder_sleeps_ten_seconds(queue, gate):
    front = queue(lambda text: gate.wait(10))
    waits = []
    for _ in range(3):
        begun = time.monotonic()
        with pytest.raises(OverBudget):
            front.embed("text", deadline=begun + 0.2)
        waits.append(time.monotonic() - begun)

    assert min(waits) < 0.2 + LATE
    assert max(waits) < 2
    assert front.embedder.texts == ["text"]


def test_whoever_comes_while_the_embedder_hangs_is_told_at_once(queue, gate):
    front = queue(lambda text: gate.wait(10))
    with pytest.raises(OverBudget):
        front.embed("text", deadline=soon(1.2))

    begun = time.monotonic()
    with pytest.raises(OverBudget, match="expected"):
        front.embed("text", deadline=begun + 1.0)
    assert time.monotonic() - begun < 0.9


def test_work_that_did_not_begin_in_time_is_dropped(queue, gate):
    front = queue(lambda text: gate.wait(10) if text == "first" else None)
    outcomes = []
    first = ask(front, "first", outcomes)
    until(lambda: front.embedder.texts)
    with pytest.raises(OverBudget):
        front.embed("second", deadline=soon(0.5))
    assert not front._queue._waiting

    gate.set()
    first.join()
    front.embed("third", deadline=soon())
    assert front.embedder.texts == ["first", "third"]
    assert outcomes == [5]


def test_texts_are_embedded_in_the_order_in_which_they_came(queue, gate):
    front = queue(lambda text: gate.wait(10))
    outcomes, threads = [], []
    for at in range(8):
        threads.append(ask(front, f"text {at}", outcomes))
        until(lambda: len(front.embedder.texts) + len(front._queue._waiting) == len(threads))
    gate.set()
    for thread in threads:
        thread.join()

    assert front.embedder.texts == [f"text {at}" for at in range(8)]
    assert len(front.embedder.threads) == 1


def test_no_more_texts_wait_than_it_has_room_for(queue, gate):
    front = queue(lambda text: gate.wait(10), length=2)
    outcomes, threads = [], []
    for at in range(3):
        threads.append(ask(front, f"text {at}", outcomes))
        until(lambda: len(front.embedder.texts) + len(front._queue._waiting) == len(threads))

    with pytest.raises(OverBudget, match="2 calls are waiting already"):
        front.embed("one too many", deadline=soon())
    gate.set()
    for thread in threads:
        thread.join()
    assert outcomes == [6, 6, 6]


def test_a_text_that_lately_took_longer_than_is_left_is_skipped_at_once(queue):
    front = queue(lambda text: time.sleep(1.0))
    front.embed("eight by", deadline=soon())

    begun = time.monotonic()
    with pytest.raises(OverBudget, match="expected"):
        front.embed("eight at", deadline=begun + 0.9)
    assert time.monotonic() - begun < 0.8
    assert front.embed("sixteen by sixteen", deadline=soon()).tokens == 18


def waiting_seconds(front):
    """How long a text that came now would wait for its turn."""
    calls = front._queue
    with calls._changed:
        return calls._wait(time.monotonic())


def test_the_wait_is_what_stands_before_one_shared_by_the_threads(queue, gate):
    front = queue(lambda text: gate.wait(10) if text == "slow" else time.sleep(0.02), threads=2)
    for _ in range(2):
        front.embed("fast", deadline=soon())
    assert waiting_seconds(front) == 0

    outcomes = []
    threads = [ask(front, "slow", outcomes) for _ in range(2)]
    until(lambda: front.embedder.texts.count("slow") == 2)
    time.sleep(0.05)
    hung = waiting_seconds(front)
    assert hung > 0.04
    threads.append(ask(front, "fast", outcomes))
    until(lambda: front._queue._waiting)
    assert waiting_seconds(front) > hung
    gate.set()
    for thread in threads:
        thread.join()


def test_one_that_hangs_takes_one_thread_and_leaves_the_others(queue, gate):
    front = queue(lambda text: gate.wait(10) if text == "hang" else None, threads=2)
    thread = ask(front, "hang", [])
    until(lambda: front.embedder.texts == ["hang"])

    assert [front.embed("fine", deadline=soon()).tokens for _ in range(20)] == [4] * 20
    gate.set()
    thread.join()


def test_a_passed_deadline_costs_the_embedder_nothing(queue):
    front = queue()

    with pytest.raises(OverBudget):
        front.embed("late", deadline=time.monotonic() - 1)
    assert front.embedder.texts == []


@pytest.mark.parametrize(
    ("fault", "seen", "says"),
    [
        (EmbedderFailed("gave nothing"), EmbedderFailed, "gave nothing"),
        (TextTooLong("300 tokens"), TextTooLong, "300 tokens"),
        (ValueError("of the text"), EmbedderFailed, "embedder fake broke: ValueError"),
        (TimeoutError("of the text"), EmbedderFailed, "embedder fake broke: TimeoutError"),
        (SystemExit(1), EmbedderFailed, "embedder fake broke: SystemExit"),
        (KeyboardInterrupt(), EmbedderFailed, "embedder fake broke: KeyboardInterrupt"),
        (MemoryError(), EmbedderFailed, "embedder fake broke: MemoryError"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_a_fault_reaches_its_own_caller_and_no_other(queue, fault, seen, says):
    def work(text):
        if text == "bad":
            raise fault

    front = queue(work)
    with pytest.raises(seen) as caught:
        front.embed("bad", deadline=soon())
    assert str(caught.value) == says
    assert front.embed("good", deadline=soon()).tokens == 4
    assert len(front.embedder.threads) == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_thread_that_dies_answers_its_caller_and_is_replaced(queue, monkeypatch):
    front = queue()
    front.embed("before", deadline=soon())
    victim = front._queue._threads[0]

    def die(ticket):
        raise SystemExit

    with monkeypatch.context() as patch:
        patch.setattr(front._queue, "_answer", die)
        with pytest.raises(EmbedderFailed, match="thread of embedder fake ended"):
            front.embed("its last", deadline=soon())
    victim.join(5)
    assert not victim.is_alive()

    assert front.embed("after", deadline=soon()).tokens == 5
    assert front._queue._threads[0] is not victim


def test_a_system_without_threads_to_spare_fails_the_call_and_not_the_queue(queue, monkeypatch):
    front = queue()

    def start(thread):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", start)
        with pytest.raises(EmbedderFailed, match="no thread"):
            front.embed("text", deadline=soon())
    assert not front._queue._waiting
    assert front.embed("text", deadline=soon()).tokens == 4


def test_sixty_four_callers_get_each_its_own_vector(queue):
    front = queue(threads=3)
    outcomes: dict[int, list] = {at: [] for at in range(1, 65)}
    threads = [ask(front, "x" * at, outcomes[at]) for at in outcomes for _ in range(4)]
    for thread in threads:
        thread.join()

    assert outcomes == {at: [at] * 4 for at in outcomes}
    assert len(front.embedder.texts) == 256
    assert waiting_seconds(front) == 0


def test_a_closed_queue_fails_those_that_wait_and_those_that_come(queue, gate):
    front = queue(lambda text: gate.wait(10))
    outcomes = []
    running = ask(front, "running", outcomes)
    until(lambda: front.embedder.texts)
    waiting = ask(front, "waiting", outcomes)
    until(lambda: front._queue._waiting)
    closing = threading.Thread(target=front.close)
    closing.start()
    waiting.join()
    assert [str(outcome) for outcome in outcomes] == ["embedder fake was closed"]

    gate.set()
    running.join()
    closing.join()
    assert outcomes[1] == 7
    with pytest.raises(EmbedderFailed, match="closed"):
        front.embed("text", deadline=soon())
    assert not any(thread.is_alive() for thread in front._queue._threads)
    assert front.embedder.closed


def test_a_pace_is_learnt_for_texts_of_like_length_and_forgotten():
    pace = Pace()
    assert pace.expected(100, now=0) == 0

    pace.took(100, 0.01, now=0)
    assert pace.expected(127, now=0.5) == 0.01
    assert pace.expected(128, now=0.5) == 0
    pace.took(100, 0.02, now=0.5)
    assert pace.expected(100, now=0.5) == pytest.approx(0.013)
    assert pace.expected(100, now=1.6) == 0
    pace.took(100, 0.5, now=1.6)
    assert pace.expected(100, now=1.6) == 0.5
