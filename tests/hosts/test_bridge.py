"""The Python child on its own: whatever comes in, it answers or passes over, and it ends when its input does."""

from __future__ import annotations

import os
import select
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.hosts.place import Child, opening

NOT_REQUESTS = {
    "nothing": b"",
    "no JSON": b"save everything",
    "half an object": b'{"id": 1, "do": "sa',
    "no UTF-8": b'{"id": 1, "do": "\xff\xfe"}',
    "a list": b'[1, "save"]',
    "a number": b"17",
    "no id": b'{"do": "save", "content": "x"}',
    "an id of another type": b'{"id": true, "do": "save"}',
    "no verb": b'{"id": 3}',
    "deeply nested": b"[" * 100_000,
}


@pytest.fixture
def child() -> Iterator[Child]:
    with Child(os.environ) as running:
        yield running


@pytest.fixture
def started(child: Child, project: Path) -> Child:
    child.ask("start", **opening(project))
    return child


def faulty(behaviour: str) -> str:
    """A program that is the child with a lifecycle that behaves in a certain way."""
    return (
        "import carryover.hosts.pi.bridge as bridge\n"
        f"class Faulty(bridge.Carryover):\n    {behaviour}\n"
        "bridge.Carryover = Faulty\nbridge.main()"
    )


@pytest.mark.parametrize("line", NOT_REQUESTS.values(), ids=NOT_REQUESTS)
def test_what_is_no_request_is_passed_over(started: Child, line: bytes) -> None:
    started.send(line + b"\n")

    reply = started.ask("save", content="- [ ] after it")

    assert reply["ok"] is True


def test_an_unknown_verb_is_refused(child: Child) -> None:
    reply = child.ask("launder", amount=3)

    assert reply == {"id": 1, "ok": False, "error": "There is no request named 'launder'."}


@pytest.mark.parametrize("content", [None, 7, ["- [ ] a list"], {"text": "an object"}])
def test_a_member_of_another_type_is_refused_by_name(started: Child, content: object) -> None:
    reply = started.ask("save", content=content)

    assert reply["ok"] is False
    assert reply["error"].startswith("`content` must be of type str")


def test_half_a_character_does_not_stop_a_save(started: Child, project: Path) -> None:
    reply = started.ask("save", content="- [ ] half an emoji: \ud83d")

    assert reply["ok"] is True
    assert "half an emoji" in (project / ".pi" / "CARRYOVER.md").read_text(encoding="utf-8")


def test_ten_megabytes_are_refused_and_the_next_request_is_served(started: Child) -> None:
    reply = started.ask("save", content="- [ ] " + "x" * 10_000_000)

    assert reply["error"].startswith("not saved: 10000006 characters")
    assert started.ask("save", content="- [ ] small")["ok"] is True


def test_a_line_longer_than_any_message_is_dropped_without_being_kept(started: Child) -> None:
    for _ in range(40):
        started.send(b"x" * 1024 * 1024)
    started.send(b"\n")

    assert started.ask("save", content="- [ ] after it")["ok"] is True


def test_it_ends_with_its_input_though_the_lifecycle_hangs(project: Path) -> None:
    with Child(os.environ, faulty("def lost(self): import time; time.sleep(60)")) as child:
        child.ask("start", **opening(project))
        began = time.monotonic()

        child.close()

        assert child.process.returncode == 0
        assert time.monotonic() - began < 4


def test_a_fault_of_ours_is_a_sentence_without_the_users_text(project: Path) -> None:
    with Child(os.environ, faulty("def save(self, content): raise KeyError(content)")) as child:
        child.ask("start", **opening(project))

        reply = child.ask("save", content="my secret")
        errors = child.close()

    assert reply["error"] == ("carryover failed at `save`: KeyError, a fault of its own. See `carryover doctor`.")
    assert "my secret" not in errors


def test_only_the_protocol_reaches_its_standard_output(project: Path) -> None:
    printing = "def save(self, content): import os; print('stray'); os.write(1, b'stray'); return 'saved'"
    with Child(os.environ, faulty(printing)) as child:
        child.ask("start", **opening(project))

        assert child.ask("save", content="x") == {"id": 2, "ok": True, "text": "saved"}


def test_up_to_the_first_prompt_it_imports_the_standard_library_alone(project: Path) -> None:
    with Child(os.environ, "from carryover.hosts.pi.bridge import main\nmain()", "-X", "importtime") as child:
        child.ask("start", **opening(project, mode="print"))
        child.ask("prompt", text="hello")
        report = child.close()

    imported = {line.rpartition("|")[2].strip().split(".")[0] for line in report.splitlines() if "|" in line}
    tried = {"org"}  # `copy` looks for Jython
    assert imported - sys.stdlib_module_names - {"carryover", "imported package"} - tried == set()
    assert "carryover" in imported
    assert "site" not in imported


def test_an_edit_of_the_note_is_noticed_while_the_session_runs(child: Child, project: Path) -> None:
    view = project / ".pi" / "CARRYOVER.md"
    child.ask("start", **opening(project, file=project / "session.jsonl"))
    child.ask("save", content="- [ ] one")

    assert child.process.stdout
    heard = False
    for number in range(50):  # when the watch begins is nobody's promise, so the edit is made until it is seen
        view.write_text(f"- [ ] one, edited {number}\n", encoding="utf-8")
        if heard := bool(select.select([child.process.stdout], [], [], 0.5)[0]):
            break

    assert heard
    assert child.receive() == {"event": "status", "text": "carryover: 1 open"}
