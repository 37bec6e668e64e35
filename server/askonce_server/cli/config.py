"""`askonce config check`, `schema` and `document`."""
# ruff: noqa: PLC0415 - pydantic is heavy, and other commands need none of it

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from askonce_server.config.model import Config
    from askonce_server.config.problems import Problem

config = typer.Typer(help="Check and describe the configuration.", no_args_is_help=True)

File = Annotated[
    Path | None,
    typer.Argument(
        help="The file. Without one the embedded default is checked.",
        envvar="ASKONCE_CONFIG",
        show_default=False,
    ),
]


@config.command()
def check(file: File = None) -> int:
    """Name every mistake in a file, one a line, and exit with 1; without mistakes, show its rules.

    Variables of the environment count, as they do for `askonce serve`. Keys and
    certificates that the file points at are read.

    Example: `askonce config check askonce.yaml`
    """
    from askonce_server.cli import rules_table
    from askonce_server.config.keys import key_problems
    from askonce_server.config.load import ConfigError, load

    try:
        checked = load(file, os.environ)
    except ConfigError as error:
        return _refused(error.problems)
    origin = "" if file is None else str(file)
    if problems := [*key_problems(checked, os.environ, origin=origin), *_tls_problems(checked, origin)]:
        return _refused(problems)
    rules_table.show(checked)
    return 0


def _tls_problems(checked: Config, origin: str) -> Iterator[Problem]:
    """Go through what is wrong with the files of certificates, as the machine is now."""
    from askonce_server.config.problems import Problem
    from askonce_server.rpc.pem import PemFiles

    admin = None if checked.admin is None else checked.admin.tls
    for path, tls in (("tls", checked.tls), ("admin.tls", admin)):
        if tls is not None:
            for fault in PemFiles(tls.cert, tls.key, tls.client_ca).faults():
                yield Problem(f"{path}.{fault.setting}", str(fault), origin)


def _refused(problems: Sequence[Problem]) -> int:
    sys.stdout.writelines(f"{problem}\n" for problem in problems)
    sys.stderr.write(f"{len(problems)} problem{'s' if len(problems) > 1 else ''}\n")
    return 1


@config.command()
def schema() -> None:
    """Print the JSON Schema of the configuration, for editors.

    An editor finds it by the first line of a configuration:
    `# yaml-language-server: $schema=askonce.schema.json`

    Example: `askonce config schema > askonce.schema.json`
    """
    from askonce_server.config.schema import schema as json_schema

    sys.stdout.write(json.dumps(json_schema(), indent=2) + "\n")


@config.command()
def document() -> None:
    """Print the reference page of the configuration, in Markdown.

    Example: `askonce config document > configuration.md`
    """
    from askonce_server.config.document import document as page

    sys.stdout.write(page())
