"""Generate the stubs of the Node client from `proto/` into `client/node` (or below a given folder).

Needs Node. The generator is among the client's own development packages.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ROOT / "client" / "node" / "node_modules" / ".bin"


def generate(below: Path) -> None:
    """Write the stubs below `below`."""
    buf = str(Path(sys.executable).parent / "buf")
    template = "proto/buf.gen.node.yaml"
    command = [buf, "generate", "proto", "--template", template, "--path", "proto/askonce/v1"]
    environ = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([*command, "--output", str(below)], cwd=ROOT, env=environ, check=True)
    for made in (below / "client" / "node" / "src" / "gen").rglob("*.ts"):
        made.write_text(made.read_text().rstrip("\n") + "\n")


if __name__ == "__main__":
    if not TOOLS.exists():
        sys.exit("run `npm ci` in client/node first")
    generate(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT)
