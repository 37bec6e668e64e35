"""`askonce serve`."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Annotated

import typer

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        "-c",
        envvar="ASKONCE_CONFIG",
        help="The configuration. Without one the embedded default serves.",
        show_default=False,
    ),
]


def serve(*, config: ConfigFile = None) -> int:
    """Run the server until it is told to stop (SIGTERM, SIGINT).

    The file is read again at SIGHUP, and when it has changed: rules are exchanged while the server runs.

    Examples:
    - `askonce serve`

    - `askonce serve --config askonce.yaml`

    - `ASKONCE_LISTEN=127.0.0.1:7070 askonce serve`
    """
    # The server and all it needs is heavy, and no other command wants it.
    from askonce_server.config.load import ConfigError, load, load_text, text_of  # noqa: PLC0415

    text = ""
    try:
        if config is None:
            settings = load(None, os.environ)
        else:
            text = text_of(config)
            settings = load_text(text, name=str(config), environ=os.environ)
    except ConfigError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    if settings.workers > 1:
        from askonce_server.supervisor import supervise  # noqa: PLC0415

        return supervise(settings, file=config, text=text)
    from askonce_server import app  # noqa: PLC0415
    from askonce_server.config.reload import ConfigFile  # noqa: PLC0415

    file = None if config is None else ConfigFile(config, text=text, config=settings, environ=os.environ)
    return app.serve(settings, file=file)
