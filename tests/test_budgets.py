"""What a start loads, and what a request costs: the cheap ones of the budgets. Times are measured in benchmarks/."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import carryover
from carryover import project as projects
from carryover import settings as configuration
from carryover.memory.brief import Request, brief
from carryover.memory.state import EMPTY
from carryover.session import notes
from carryover.session.notes import Author
from carryover.store.files import FileSystem
from carryover.store.store import Store
from carryover.text import tokens

PACKAGE = Path(carryover.__file__).parent
EXTENSION = PACKAGE / "hosts" / "pi" / "extension"

#: Slow to import, and none of it is needed before somebody waits for something else.
SLOW = {
    "asyncio", "concurrent", "email", "hashlib", "hmac", "http", "importlib.metadata", "logging", "multiprocessing",
    "random", "shutil", "signal", "socket", "ssl", "subprocess", "tempfile", "traceback", "urllib.request",
}  # fmt: skip
#: Our own, for later moments of a session.
LATER = {"carryover.jsonc", "carryover.store.redact"}

FIRST_REPLY = """
import json, os, queue
from carryover.hosts.pi.bridge import Bridge, Carryover, Output
bridge = Bridge(Carryover(os.environ), Output(), queue.SimpleQueue())
bridge.hear(json.dumps({
    "id": 1, "do": "start", "mode": "print", "reason": "startup", "cwd": os.getcwd(), "host": "pi",
    "hostVersion": "1.6.0", "session": {"id": "one", "file": None, "messages": 0}, "trusted": None, "nested": False,
    "pid": os.getpid(),
}).encode() + b"\\n")
"""


def loaded(script: str, cwd: Path) -> set[str]:
    """The modules that a script loads, in a Python that is started as pi's child is."""
    told = "import sys; sys.path.append(sys.argv[1]); before = set(sys.modules)\n"
    asked = "\nprint(*set(sys.modules) - before, file=sys.stderr)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", told + script + asked, str(PACKAGE.parent)],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )
    return set(done.stderr.split())


def store(project: Path, system: FileSystem) -> Store:
    found = projects.find(project, os.environ)
    return Store(found, configuration.load(found.root, os.environ), os.environ, system)


def save(into: Store, text: str) -> None:
    with into.writing() as writer:
        notes.write(writer, text, Author("agent", "agent"))


def test_import_carryover_loads_nothing_else(tmp_path: Path) -> None:
    assert loaded("import carryover", tmp_path) <= {"carryover", "__future__"}


def test_the_child_loads_the_standard_library_only_before_its_first_reply(project: Path) -> None:
    roots = {name.partition(".")[0] for name in loaded(FIRST_REPLY, project)}

    assert roots - sys.stdlib_module_names == {"carryover"}


def test_the_child_loads_nothing_slow_and_nothing_early_before_its_first_reply(project: Path) -> None:
    save(store(project, FileSystem()), "- [ ] finish the parser")

    assert loaded(FIRST_REPLY, project) & (SLOW | LATER) == set()


def test_showing_the_note_loads_nothing_of_later_moments() -> None:
    script = "from carryover.cli import commands, reading"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; {script}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
        encoding="utf-8",
    )

    assert set(done.stdout.split()) & (LATER | {"asyncio", "hashlib", "openai", "subprocess", "watchfiles"}) == set()


@pytest.mark.parametrize("name", ["api", "a project with a name of some length", "项目"])
def test_a_project_with_nothing_on_record_costs_at_most_60_tokens(name: str) -> None:
    assert tokens(brief(EMPTY, Request(project=name)).text) <= 60


def test_the_schemas_of_the_tools_have_less_than_4_kb_together() -> None:
    sources = "".join(path.read_text(encoding="utf-8") for path in sorted(EXTENSION.glob("*.ts")))

    tools = re.findall(r"registerTool\(\{(.*?)\bexecute:", sources, re.DOTALL)

    assert tools
    assert sum(len(tool.encode()) for tool in tools) < 4096


def test_a_save_syncs_the_log_the_note_and_its_name_and_nothing_else(project: Path) -> None:
    class Counting(FileSystem):
        def __init__(self) -> None:
            self.calls: list[str] = []

        def sync(self, descriptor: int) -> None:
            self.calls.append("file")
            super().sync(descriptor)

        def sync_folder(self, path: Path) -> None:
            self.calls.append("folder")
            super().sync_folder(path)

    system = Counting()
    running = store(project, system)
    save(running, "- [ ] finish the parser")
    system.calls.clear()

    save(running, "- [ ] finish the printer")

    assert system.calls == ["file", "file", "folder"]


def test_a_save_writes_no_snapshot(project: Path) -> None:
    running = store(project, FileSystem())

    save(running, "- [ ] finish the parser")

    assert running.snapshot_path is not None
    assert not running.snapshot_path.exists()


def test_the_block_of_a_snapshot_does_not_read_the_log_again(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = store(project, FileSystem())
    save(running, "- [ ] finish the parser")
    running.keep_snapshot(running.known())
    monkeypatch.setattr("carryover.store.log.decode", lambda line: pytest.fail(f"read again: {json.dumps(str(line))}"))

    state, _ = store(project, FileSystem()).delivered()

    note = state.note()
    assert note is not None
    assert note.text == "- [ ] finish the parser"
