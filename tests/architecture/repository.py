"""The repository as its tests see it: tracked files and parsed modules."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SERVER, CLIENT = ROOT / "server", ROOT / "client" / "python"
GENERATED = ("_pb2.py", "_pb2.pyi", "_pb2_grpc.py")


@dataclass(frozen=True, slots=True)
class Module:
    """One module of ours that was written by hand."""

    name: str
    path: Path
    tree: ast.Module

    @property
    def shown(self) -> str:
        return str(self.path.relative_to(ROOT))

    def imports(self) -> Iterator[str]:
        """Yield every name that is imported anywhere in the module, members of packages included."""
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                yield from (alias.name for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                yield from (f"{self._source(node)}.{alias.name}" for alias in node.names)

    def _source(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        package = self.name.split(".")
        if self.path.name != "__init__.py":
            package = package[:-1]
        package = package[: len(package) - node.level + 1]
        return ".".join([*package, *([node.module] if node.module else [])])


@cache
def modules(source_root: Path) -> tuple[Module, ...]:
    """Return the hand-written modules below a source root."""
    paths = sorted(path for path in source_root.rglob("*.py") if not path.name.endswith(GENERATED))
    return tuple(
        Module(_name(path, source_root), path, ast.parse(path.read_text(encoding="utf-8")))
        for path in paths
        if path.parent != source_root
    )


def _name(path: Path, source_root: Path) -> str:
    parts = path.relative_to(source_root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tracked() -> tuple[Path, ...]:
    """Return the files that belong to the repository: those that git knows or would add."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=False)
    if listed.returncode:  # an unpacked archive has no index
        return tuple(path for path in ROOT.rglob("*") if path.is_file() and ".venv" not in path.parts)
    paths = (ROOT / name for name in listed.stdout.decode().split("\0") if name)
    return tuple(path for path in paths if path.is_file())
