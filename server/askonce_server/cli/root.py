"""Puts the commands together and words their errors."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import Annotated, Any, cast

import typer
from typer.core import TyperGroup

from askonce_server.cli.backup import export, import_
from askonce_server.cli.calibrate import calibrate
from askonce_server.cli.config import config
from askonce_server.cli.demo_command import demo
from askonce_server.cli.embed import embed
from askonce_server.cli.explain import explain
from askonce_server.cli.explain_key import explain_key
from askonce_server.cli.failure import Failed
from askonce_server.cli.labels import labels
from askonce_server.cli.lookup import lookup
from askonce_server.cli.operate import delete, entry, purge
from askonce_server.cli.serve import serve
from askonce_server.cli.similar import similar
from askonce_server.cli.store import store
from askonce_server.cli.store_upkeep import compact, reencrypt, verify
from askonce_server.cli.version import version, versions
from askonce_server.cli.watch import stats, top


class Commands(TyperGroup):
    """The commands, of which some have a name of two words: `store verify` stands beside `store`."""

    def resolve_command(self, context: Any, arguments: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command that `arguments` begin with, and the rest of them."""
        name = " ".join(arguments[:2])
        if name in self.commands:
            return name, self.commands[name], arguments[2:]
        return super().resolve_command(context, arguments)


app = typer.Typer(
    name="askonce",
    cls=Commands,
    help="AskOnce tells an LLM gateway whether it already has the answer.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:  # noqa: FBT001 - typer's shape
    if asked:
        typer.echo(versions())
        raise typer.Exit


@app.callback()
def root(
    *,
    _version: Annotated[
        bool,
        typer.Option("--version", help="Print the version.", callback=_print_version, is_eager=True),
    ] = False,
) -> None:
    """AskOnce tells an LLM gateway whether it already has the answer."""


def healthcheck(context: typer.Context) -> int:
    """Ask a running server whether it is serving.

    Example: `askonce healthcheck unix:///run/askonce/askonce.sock`
    """
    # Reached only behind an option of `askonce` itself; `main` takes the short way otherwise.
    from askonce_server import healthcheck as command  # noqa: PLC0415 - it is imported without the rest elsewhere

    return command.main(list(context.args))


app.command(no_args_is_help=False)(serve)
app.command()(lookup)
app.command()(store)
app.command("store verify")(verify)
app.command("store compact")(compact)
app.command("store reencrypt")(reencrypt)
app.command()(export)
app.command("import")(import_)
app.command()(explain)
app.command("explain-key", hidden=True)(explain_key)
app.command()(purge)
app.command()(delete)
app.command()(entry)
app.command()(stats)
app.command()(top)
app.command()(embed)
app.command()(similar)
app.command()(labels)
app.command()(calibrate)
app.command()(demo)
app.command(context_settings={"ignore_unknown_options": True, "allow_extra_args": True})(healthcheck)
app.add_typer(config, name="config")
app.command()(version)


def run(arguments: list[str]) -> int:
    """Run `arguments` and return the exit code. Errors are one line on the standard error stream."""
    _open_standard_streams()
    try:
        result = app(args=arguments or ["--help"], prog_name="askonce", standalone_mode=False)
        sys.stdout.flush()
    except Failed as failure:
        sys.stderr.write(f"askonce: {failure}\n")
        return failure.exit_code
    except BrokenPipeError:
        _drop_output()
        return 1
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _drop_output()
        sys.stderr.write(f"askonce: cannot write what was asked for: {error.strerror}\n")
        return 1
    except Exception as error:
        if not hasattr(error, "format_message"):
            raise
        return _misused(error)
    return result if isinstance(result, int) else 0


def _open_standard_streams() -> None:
    """Give a standard stream that the caller has closed an empty one: Python leaves it None."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            stream = Path(os.devnull).open(mode, encoding="utf-8")  # noqa: SIM115 - for the life of the process
            setattr(sys, name, stream)


def _drop_output() -> None:
    """What is left in the buffer, which nobody takes, must not be tried again at the end."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _misused(error: Any) -> int:
    """Word a usage error of typer's parser, whose classes have no public name."""
    context = getattr(error, "ctx", None)
    hint = f" (see {context.command_path} --help)" if context is not None else ""
    message = " ".join(str(error.format_message()).split())
    if message:  # a group without a command has printed its help instead
        sys.stderr.write(f"askonce: {message.rstrip('.')}{hint}\n")
    return cast("int", getattr(error, "exit_code", 2))
