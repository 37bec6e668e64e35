"""One worker as its supervisor sees it: when it starts again, how its end is worded."""

from __future__ import annotations

import pytest

from askonce_server.workers.child import Child, State, ended


def test_a_worker_that_ends_again_and_again_waits_longer_each_time():
    child = Child(0, counts=-1)
    assert (child.state, child.due, child.pid) == (State.DOWN, 0.0, None)
    waits = []
    for _ in range(30):
        child.back_off(1000.0)
        waits.append(round(child.due - 1000.0, 3))
    assert waits[:8] == [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 10.0]
    assert set(waits[7:]) == {10.0}


@pytest.mark.parametrize(
    ("status", "text"),
    [
        (0, "ended with status 0"),
        (1, "ended with status 1"),
        (-9, "was killed by SIGKILL"),
        (-64, "was killed by SIGRTMAX"),
        (-99, "was killed by signal 99"),
    ],
)
def test_the_end_of_a_process_is_worded(status, text):
    assert ended(status) == text
