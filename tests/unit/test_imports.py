"""No file of exactperm imports itself in a circle; import-linter looks at the rooms, this at the files."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
APP = ROOT / "app" / "exactperm"


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(APP.parent).with_suffix("").parts).removesuffix(".__init__")


MODULES = {module_of(path): path for path in APP.rglob("*.py")}


def imports(path: Path) -> Iterator[str]:
    """The modules of exactperm that a file imports anywhere, but for type checkers only."""
    package = list(path.relative_to(APP.parent).parts[:-1])
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
        for inner in ast.walk(node)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level and id(node) not in for_types:
            parent = package[: len(package) - node.level + 1] + (
                node.module.split(".") if node.module else []
            )
            base = ".".join(parent)
            for name in node.names:
                full = f"{base}.{name.name}"
                yield full if full in MODULES else base


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """What remains when files that import nothing, or nothing that remains, are taken away again and again."""
    left = {name: set(targets) & set(graph) for name, targets in graph.items()}
    while free := [name for name, targets in left.items() if not targets]:
        for name in free:
            del left[name]
        left = {name: targets - set(free) for name, targets in left.items()}
    while free := [name for name in left if not any(name in targets for targets in left.values())]:
        for name in free:
            del left[name]
    return [sorted(left)] if left else []


@pytest.mark.slow
def test_no_circle_of_files() -> None:
    graph = {name: set(imports(path)) - {name} for name, path in MODULES.items()}
    assert sum(map(len, graph.values())) > 1_000  # it does see the imports
    assert circles(graph) == []


def test_a_circle_would_be_seen() -> None:
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a"}}) == [["b", "c"]]
