"""`askonce export` and `askonce import`."""
# ruff: noqa: PLC0415 - the store is heavy, and other commands need none of it

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from askonce_server.cli.serve import ConfigFile

StoreFolder = Annotated[
    Path | None,
    typer.Option("--store", help="The store's folder; else that of the configuration.", metavar="FOLDER"),
]
ExportFile = Annotated[str, typer.Argument(help="The file. `-`: the standard output.", show_default=False)]
ImportFile = Annotated[str, typer.Argument(help="The file. `-`: the standard input.", show_default=False)]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first damaged line.")]
NameAll = Annotated[bool, typer.Option("--name-all", help="Name every line that is left out, not the first.")]


def export(file: ExportFile, *, config: ConfigFile = None, store: StoreFolder = None) -> int:
    """Write what a store holds to a file: JSON Lines, one a Store, with ids, times and generations.

    No server may have the store open. The file holds answers as they are, also of a store that is encrypted:
    keep it as safe as them.

    Examples:
    - `askonce export backup.jsonl --config askonce.yaml`

    - `askonce export - --store /var/lib/askonce | zstd > backup.jsonl.zst`
    """
    from askonce_server.cli import backup_files

    return backup_files.export(file, backup_files.settings(config, store))


def import_(
    file: ImportFile,
    *,
    config: ConfigFile = None,
    store: StoreFolder = None,
    strict: Strict = False,
    name_all: NameAll = False,
) -> int:
    """File what an export holds in a store, under its ids and with what is left of its times.

    May be repeated. What is there already stays when it is as new; what the store has purged or deleted stays
    away. A store without entries takes over the generations of the export. Exits with 1 when a line was
    damaged or the store had no room. No server may have the store open.

    Examples:
    - `askonce import backup.jsonl --config askonce.yaml`

    - `zstd -dc backup.jsonl.zst | askonce import - --store /var/lib/askonce --strict`
    """
    from askonce_server.cli import backup_files

    chosen = backup_files.settings(config, store)
    return backup_files.import_(file, chosen, strict=strict, name_all=name_all)
