"""`askonce store verify` and `askonce store compact`."""
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

    No server may have the store open. With `--repair` what was found was mended, and the exit code is 0.

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
    what = "row" if len(findings) == 1 else "rows"
    if not findings:
        sys.stderr.write("every row agrees with the others\n")
    elif repair:
        sys.stderr.write(f"{len(findings)} {what} mended\n")
    else:
        sys.stderr.write(f"{len(findings)} {what} do not agree with the others: --repair mends them\n")
    return 1 if findings and not repair else 0


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
