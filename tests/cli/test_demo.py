"""The demo is what a newcomer sees first: it must come out as the corpus says, over a real sidecar."""

import subprocess
import sys

from askonce import AskOnce
from askonce_server.cli.demo import _sidecar
from askonce_server.demo import cases
from askonce_server.demo.player import play


def test_every_case_comes_out_as_expected_in_both_passes(tmp_path):
    with _sidecar(tmp_path / "demo") as target, AskOnce(target) as client:
        for second in (False, True):
            for played in play(client, cases(), second=second):
                assert played.as_expected, (
                    f"{played.case.title}: {played.result} instead of {played.expected}"
                )
                assert played.right_body, played.case.title


def test_the_command_prints_a_table_and_succeeds():
    done = subprocess.run(
        [sys.executable, "-m", "askonce_server", "demo"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.count("hit exact") > 20
    assert "Second pass: 25 hits of 31 eligible requests" in done.stdout
    assert done.stdout.count("hit semantic") == 2
