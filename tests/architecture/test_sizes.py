"""A file has one reason to change, and a function fits on a screen."""

from __future__ import annotations

import ast

import pytest

from architecture.repository import CLIENT, ROOT, SERVER, modules

MAX_LINES, MAX_STATEMENT_LINES = 300, 40
MAX_TEST_LINES = 450
COMPOSITION = "askonce_server.app"
"""Names every part and wires it: it may be a little longer than what it wires."""
TABLES = "askonce_server.core.guards.lexicon."
"""Lists of words, not code."""
LONGER = {
    COMPOSITION: 50,
    "askonce_server.core.guards.features": 60,  # a line a kind of feature
    "askonce_server.core.guards.reading": 60,
}
MODULES = [*modules(SERVER), *modules(CLIENT)]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_no_module_is_too_long(module):
    limit = 350 if module.name == COMPOSITION else MAX_LINES
    lines = len(module.path.read_text(encoding="utf-8").splitlines())
    assert lines <= limit or module.name.startswith(TABLES)


def test_no_file_of_tests_is_too_long():
    files = {
        path: len(path.read_text(encoding="utf-8").splitlines()) for path in (ROOT / "tests").rglob("*.py")
    }
    mine = {str(path): lines for path, lines in files.items() if "node_modules" not in path.parts}
    assert len(mine) > 200
    assert {path: lines for path, lines in mine.items() if lines > MAX_TEST_LINES} == {}


def body_lines(function):
    """Count the lines of a function's statements: neither its parameters nor its docstring are work."""
    first = 1 if ast.get_docstring(function) and len(function.body) > 1 else 0
    return function.end_lineno - function.body[first].lineno + 1


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.name)
def test_no_function_is_too_long(module):
    limit = LONGER.get(module.name, MAX_STATEMENT_LINES)
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    functions = [node for node in ast.walk(module.tree) if isinstance(node, kinds)]
    assert {node.name: body_lines(node) for node in functions if body_lines(node) > limit} == {}
