"""Generate the Go stubs from `proto/` into `client/go` (or below a folder given as argument).

Needs Go. The generators are Go modules at the versions below, installed beside the other tools.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TOOLS = Path(sys.executable).parent.parent / "gobin"
GENERATORS = (
    "google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12",
    "google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2",
)


def install(*packages: str) -> None:
    """Install commands of Go modules into the tools' folder."""
    environ = {**os.environ, "GOBIN": str(TOOLS)}
    for package in packages:
        subprocess.run(["go", "install", package], env=environ, check=True)


def generate(below: Path) -> None:
    """Write the stubs below `below`."""
    buf = str(Path(sys.executable).parent / "buf")
    command = [buf, "generate", "proto", "--template", "proto/buf.gen.yaml", "--path", "proto/askonce/v1"]
    environ = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    subprocess.run([*command, "--output", str(below)], cwd=ROOT, env=environ, check=True)


if __name__ == "__main__":
    install(*GENERATORS)
    generate(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT)
