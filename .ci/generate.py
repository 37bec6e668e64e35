"""Generate the Python stubs from `proto/` into their source roots (or below a folder given as argument).

Run under the oldest supported grpcio-tools, so that the stubs load under every later runtime.
"""

import sys
from importlib.resources import files
from pathlib import Path

from grpc_tools import protoc

ROOT = Path(__file__).resolve().parent.parent
TARGETS = {"askonce": "client/python", "askonce_server": "server"}


def generate(below: Path) -> None:
    """Write the stubs of every proto package below `below`, each into its source root."""
    for package, source_root in TARGETS.items():
        out = below / source_root
        out.mkdir(parents=True, exist_ok=True)
        sources = sorted(str(path) for path in (ROOT / "proto" / package).rglob("*.proto"))
        services = [path for path in sources if path.endswith("_service.proto")]
        include = [f"-I{ROOT / 'proto'}", f"-I{files('grpc_tools') / '_proto'}"]
        run([*include, f"--python_out={out}", f"--pyi_out={out}", *sources])
        if services:
            run([*include, f"--grpc_python_out={out}", *services])


def run(arguments: list[str]) -> None:
    """Run protoc or stop."""
    if protoc.main(["protoc", *arguments]):
        sys.exit("protoc failed: see above")


if __name__ == "__main__":
    generate(Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else ROOT)
