"""Doing much at once, and waiting for what comes true."""

import threading
import time


def in_threads(count, work):
    """Run `work(number)` in `count` threads at once; return what each returned."""
    results = [None] * count

    def run_one(number):
        results[number] = work(number)

    threads = [threading.Thread(target=run_one, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


def eventually(holds):
    """Whether `holds()` becomes true within half a minute."""
    deadline = time.monotonic() + 30
    while not (held := holds()) and time.monotonic() < deadline:
        time.sleep(0.005)
    return held
