"""Compares what the page has of the npm registry with what is there now: exits with 1 where it differs."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

PACKAGE = "uplot@1.6.32"
STATIC = Path(__file__).parents[1] / "server" / "askonce_server" / "web" / "static"
FILES = {
    "uPlot.iife.min.js": "package/dist/uPlot.iife.min.js",
    "uPlot.min.css": "package/dist/uPlot.min.css",
    "uPlot.LICENSE": "package/LICENSE",
}


def main() -> int:
    """Return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(
            ["npm", "pack", "--silent", PACKAGE], cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
        (packed,) = Path(folder).glob("*.tgz")
        with tarfile.open(packed) as archive:
            members = {name: archive.extractfile(member) for name, member in FILES.items()}
            differing = [
                name
                for name, member in members.items()
                if member is None or member.read() != (STATIC / name).read_bytes()
            ]
    for name in differing:
        print(f"{name} differs from the one in {PACKAGE}", file=sys.stderr)  # noqa: T201 - a script
    return 1 if differing else 0


if __name__ == "__main__":
    sys.exit(main())
