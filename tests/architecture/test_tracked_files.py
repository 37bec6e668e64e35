"""Nothing in the repository belongs to one machine."""

from __future__ import annotations

import re
from pathlib import Path

from architecture.repository import ROOT, tracked

# Spelt in pieces, so that this file does not find itself.
FOREIGN = re.compile(
    "|".join(
        [
            r"(?<![\w.])/" + r"work/",
            r"(?<![\w.])/" + r"root/",
            r"/" + r"Users/\w",
            r"index" + r"-url",
            r"trusted" + r"-host",
            r"pypi\.org/" + r"simple",
            r"files\.python" + r"hosted\.org",
            r"registry\.npm" + r"js\.org",
            r"(?:proxy|sum)\." + r"golang\.org",
            r"https?://[\w.-]*(?:artifactory|nexus|devpi)" + r"[\w.-]*/",
        ]
    )
)


def shown(path):
    return str(path.relative_to(ROOT))


def texts():
    for path in tracked():
        raw = path.read_bytes()
        if b"\0" not in raw:
            yield path, raw.decode(errors="replace")


def test_no_file_names_a_folder_or_a_registry_of_some_machine():
    found = {f"{shown(path)}: {match[0]}" for path, text in texts() for match in FOREIGN.finditer(text)}
    assert found == set()


def ends_well(text):
    return not text or (text.endswith("\n") and not text.endswith("\n\n") and "\r" not in text)


def test_text_files_end_with_one_line_break_and_have_no_carriage_returns():
    written = (".py", ".proto", ".md", ".toml", ".yaml", ".yml", ".go", ".ts", ".js", ".sh")
    wrong = {shown(path) for path, text in texts() if path.suffix in written and not ends_well(text)}
    assert wrong == set()


def test_what_is_built_or_secret_is_not_tracked():
    names = {"__pycache__", ".venv", "node_modules", ".env", "id_rsa", ".netrc", ".pypirc"}
    wrong = [str(path.relative_to(ROOT)) for path in tracked() if names & set(path.relative_to(ROOT).parts)]
    assert wrong == []
    assert [path for path in tracked() if path.suffix in {".pyc", ".mdb", ".so", ".pem", ".key"}] == []


def test_large_files_are_few_and_known():
    known = {Path("server/askonce_server/embed/minilm/tokenizer.json")}
    large = {path.relative_to(ROOT) for path in tracked() if path.stat().st_size > 1 << 20}
    assert large <= known
