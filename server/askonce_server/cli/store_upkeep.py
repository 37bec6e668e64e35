"""`askonce store verify`, `askonce store compact` and `askonce store reencrypt`."""
# ruff: noqa: PLC0415 - the store is heavy, and other commands need none of it

from __future__ import annotations

import sys
from typing import Annotated

import typer

from askonce_server.cli.backup import StoreFolder
from askonce_server.cli.failure import Failed
from askonce_server.cli.serve import ConfigFile

Repair = Annotated[bool, typer.Option("--repair", help="Mend what is found; no sound answer is lost.")]


def verify(*, config: ConfigFile = None, store: StoreFolder = None, repair: Repair = False) -> int:
    """Check every row of a store against the others; name what does not agree, and exit with 1 if any.

    No server may have the store open. With `--repair` what was found was mended, and the exit code is 0. Rows
    under a key that the configuration does not name are named, and never mended: `key missing`.

    Examples:
    - `askonce store verify --config askonce.yaml`

    - `askonce store verify --store /var/lib/askonce --repair`
    """
    from askonce_server import upkeep
    from askonce_server.cli.backup_files import settings

    try:
        findings = upkeep.verify(settings(config, store), repair=repair)
    except upkeep.StoreUnavailable as unavailable:
        raise Failed(str(unavailable)) from None
    for finding in findings:
        sys.stdout.write(f"{finding}\n")
    wrong = sum(1 for finding in findings if finding.mendable)
    locked = len(findings) - wrong
    if not findings:
        sys.stderr.write("every row agrees with the others\n")
    if wrong and repair:
        sys.stderr.write(f"{_rows(wrong)} mended\n")
    elif wrong:
        sys.stderr.write(f"{_rows(wrong)} do not agree with the others: --repair mends them\n")
    if locked:
        sys.stderr.write(f"{_rows(locked)} left alone: add the missing key to store.encryption.keys\n")
    return 1 if locked or (wrong and not repair) else 0


def _rows(count: int) -> str:
    return f"{count} row{'' if count == 1 else 's'}"


def compact(*, config: ConfigFile = None, store: StoreFolder = None) -> int:
    """Write a store's file anew without its free pages, and put it in the place of the old one.

    No server may have the store open. Its disk needs room for both files.

    Examples:
    - `askonce store compact --config askonce.yaml`

    - `askonce store compact --store /var/lib/askonce`
    """
    from askonce_server import upkeep
    from askonce_server.cli.backup_files import settings
    from askonce_server.config.quantities import format_size

    try:
        sizes = upkeep.compact(settings(config, store))
    except upkeep.StoreUnavailable as unavailable:
        raise Failed(str(unavailable)) from None
    sys.stderr.write(
        f"the store took {format_size(sizes.before)}, and takes {format_size(sizes.after)} now\n"
    )
    return 0


def reencrypt(*, config: ConfigFile = None, store: StoreFolder = None) -> int:
    """Write every row anew under the first key of `store.encryption`, or in plain under `enabled: false`.

    Finishes a rotation: the old key is not needed after it. Then the file is written anew, since its free
    pages hold what was there before: its disk needs room for both. No server may have the store open. May be
    repeated, also after it was stopped; exits with 1 when rows are left under a key that is not here.

    Example: `askonce store reencrypt --config askonce.yaml`
    """
    from askonce_server.cli.backup_files import reencrypt as run
    from askonce_server.cli.backup_files import settings

    return run(settings(config, store))
