"""What may import what, read from the source; and what a bare import loads, seen in a fresh process."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import carryover

PACKAGE = Path(carryover.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Upper imports lower, never sideways. The package's own face and `python -m carryover` stand above all.
LAYERS = (
    ("", "__main__"),
    ("cli",),
    ("hosts", "library"),
    ("session",),
    ("topics", "recall"),
    ("completion", "embedding", "repository", "store"),
    ("memory",),
    ("project", "settings"),
    ("jsonc", "messages", "process", "text", "worktree"),
    ("errors",),
)
LEVEL = {unit: level for level, units in enumerate(LAYERS) for unit in units}

# Start-up is what a user waits for, so a dependency is imported in these places and nowhere else.
DEPENDENCIES = {"click": ("cli",), "openai": ("completion",), "watchfiles": ("session", "hosts")}

INPUT_AND_OUTPUT = {
    "asyncio", "glob", "http", "io", "logging", "os", "pathlib", "random", "secrets", "shutil", "signal",
    "socket", "sqlite3", "subprocess", "sys", "tempfile", "threading", "time", "urllib",
}  # fmt: skip
CALLS = {"open", "print", "input", "now", "today", "utcnow"}


def name_of(module: Path) -> str:
    parts = ("carryover", *module.relative_to(PACKAGE).with_suffix("").parts)
    return ".".join(parts).removesuffix(".__init__")


def unit_of(name: str) -> str:
    """The part of the package that a module belongs to: ``carryover.store.log`` -> ``store``."""
    return [*name.split("."), ""][1]


def imports(module: Path) -> Iterator[str]:
    """Every module that this one imports anywhere, in functions and for types too, by its full name."""
    package = name_of(module) if module.name == "__init__.py" else name_of(module).rpartition(".")[0]
    for node in ast.walk(ast.parse(module.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package.split(".")[: -node.level + 1 or None] if node.level else []
            source = ".".join([*base, *([node.module] if node.module else [])])
            yield from (f"{source}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_imports_point_from_upper_layers_to_lower_ones(module: Path) -> None:
    unit = unit_of(name_of(module))
    ours = {name for name in imports(module) if name.split(".")[0] == "carryover"}

    wrong = {
        name
        for name in ours - {"carryover", "carryover.__version__"}
        if unit_of(name) != unit and LEVEL[unit_of(name)] <= LEVEL[unit]
    }

    assert wrong == set()


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_dependencies_are_imported_only_where_nobody_waits_for_them(module: Path) -> None:
    roots = {name.split(".")[0] for name in imports(module)}
    foreign = roots - sys.stdlib_module_names - {"carryover"}

    misplaced = {name for name in foreign if unit_of(name_of(module)) not in DEPENDENCIES.get(name, ())}

    assert misplaced == set()


@pytest.mark.parametrize("module", sorted((PACKAGE / "memory").rglob("*.py")), ids=name_of)
def test_memory_does_no_input_or_output_and_asks_no_clock(module: Path) -> None:
    nodes = list(ast.walk(ast.parse(module.read_bytes())))
    called = {node.func for node in nodes if isinstance(node, ast.Call)}
    names = {node.id for node in called if isinstance(node, ast.Name)}
    names |= {node.attr for node in called if isinstance(node, ast.Attribute)}

    found = {name.split(".")[0] for name in imports(module)} & INPUT_AND_OUTPUT | names & CALLS

    assert found == set()


def test_a_bare_import_loads_no_dependency(tmp_path: Path) -> None:
    heavy = {"numpy", "onnxruntime", "tokenizers", "huggingface_hub", "click", "mcp", "openai", "watchfiles"}
    script = "import sys, carryover; print(*{name.split('.')[0] for name in sys.modules})"

    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )

    assert set(done.stdout.split()) & heavy == set()
