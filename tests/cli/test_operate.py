"""`askonce purge`, where nobody can be asked and where nobody serves operators."""

from __future__ import annotations

import pytest


@pytest.mark.parametrize("answer", [b"", b"n\n"])
def test_everything_is_purged_for_none_who_does_not_mean_it(askonce, server, answer):
    ran = askonce("purge", "--everything", "--admin", server.target, stdin=answer)

    assert ran.code == 1
    assert ran.err == "askonce: nothing was purged: answer y, or give --yes where nobody can be asked\n"


def test_an_address_that_serves_no_operators_is_told_from_one_that_does(askonce, server):
    ran = askonce("purge", "--dim", "tenant=acme", "--admin", server.target)

    assert ran.code == 1
    assert ran.err == (
        f"askonce: {server.target} does not serve this: is it the address of admin.listen, or of listen?\n"
    )
