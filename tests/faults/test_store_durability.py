"""When what was written is brought to the disk: with each commit, or once in a while."""

import threading

from askonce_server.store.commits import Committer
from askonce_server.store.departed import Departed
from askonce_server.store.environment import OpenEnvironment
from askonce_server.store.jobs import Job, Ticket
from askonce_server.store.writer import Writer, WriterOptions


class Env:
    """An environment that only counts its syncs."""

    def __init__(self):
        self.synced = threading.Event()
        self.syncs = 0

    def path(self):
        return "/nowhere"

    def sync(self, force):
        assert force
        self.syncs += 1
        self.synced.set()


class NoTransactions(Committer):
    """Takes jobs and writes nothing."""

    def run(self, take):
        for job in take():
            job.result = None
            job.ticket.end_one()


def submit_one(sync_interval):
    env = Env()
    options = WriterOptions(sync_interval=sync_interval)
    opened = OpenEnvironment(env, None, None, None, None, None)
    writer = Writer(env, NoTransactions(opened, None, Departed(), commit=None), options)
    ticket = Ticket()
    job = Job(action=None, ticket=ticket)
    writer.submit([job], ticket)
    assert job.result is None
    return env, writer


def test_periodic_durability_syncs_once_after_the_interval():
    env, writer = submit_one(sync_interval=0.05)
    assert env.synced.wait(10)
    assert writer.close()
    assert env.syncs == 1


def test_periodic_durability_syncs_at_the_end():
    env, writer = submit_one(sync_interval=3600.0)
    assert env.syncs == 0
    assert writer.close()
    assert env.syncs == 1


def test_commits_that_are_synced_need_no_further_sync():
    env, writer = submit_one(sync_interval=None)
    assert writer.close()
    assert env.syncs == 0
