"""The memory of a project, for programs."""

from __future__ import annotations

import doctest
from pathlib import Path

import pytest

from carryover import Memory, library
from carryover.errors import CarryoverError, EventRefused, NotFound, ProjectError, StoreUnavailable

FIRST = "- [ ] the parser"
SECOND = "- [ ] the printer"
THIRD = "- [ ] the profiler"


@pytest.fixture
def memory(project: Path) -> Memory:
    return Memory(project)


def view(project: Path) -> Path:
    return project / ".pi" / "CARRYOVER.md"


def test_the_example_of_the_module_is_true() -> None:
    outcome = doctest.testmod(library)

    assert (outcome.failed, outcome.attempted > 5) == (0, True)


def test_where_nothing_was_saved_the_note_is_empty_and_no_file_is_made(memory: Memory, project: Path) -> None:
    assert (memory.note(), memory.history(), memory.problem()) == ("", [], "")
    assert memory.clear() is False
    assert memory.brief().text == ""
    with pytest.raises(NotFound):
        memory.restore()
    assert not view(project).exists()
    assert not (project / ".pi" / "carryover.log").exists()


def test_a_note_is_saved_for_everybody(memory: Memory, project: Path) -> None:
    memory.save(f"{FIRST}\n- [x] the lexer")

    assert Memory(project).note() == FIRST
    assert FIRST in view(project).read_text("utf-8")
    assert f"> {FIRST}" in Memory(project).brief().text


def test_a_note_is_cleared_and_brought_back(memory: Memory) -> None:
    memory.save(FIRST)

    cleared = memory.clear()
    gone = memory.note()
    memory.restore()

    assert (cleared, gone, memory.note()) == (True, "", FIRST)
    assert [event.op for event in memory.history()] == ["note", "clear", "note"]


def test_a_note_is_restored_by_the_end_of_its_id(memory: Memory) -> None:
    for note in (FIRST, SECOND, THIRD):
        memory.save(note)

    memory.restore(memory.history()[-1].id[-6:])

    assert memory.note() == FIRST


def test_an_edit_that_is_not_on_record_is_what_restore_undoes(memory: Memory, project: Path) -> None:
    memory.save(FIRST)
    memory.save(SECOND)
    view(project).write_text(view(project).read_text("utf-8").replace(SECOND, THIRD), "utf-8")

    memory.restore()

    assert memory.note() == SECOND


def test_the_history_is_as_long_as_asked_for(memory: Memory) -> None:
    for number in range(5):
        memory.save(f"- [ ] {number}")

    assert [event.text for event in memory.history(2)] == ["- [ ] 4", "- [ ] 3"]


def test_who_never_read_the_note_replaces_it(memory: Memory, project: Path) -> None:
    memory.save(FIRST)

    Memory(project).save(SECOND)

    assert memory.note() == SECOND


def test_who_read_an_older_note_merges(memory: Memory, project: Path) -> None:
    Memory(project).save(FIRST)
    memory.note()
    Memory(project).save(f"{FIRST}\n{SECOND}")

    memory.save(f"{FIRST}\n{THIRD}")
    memory.save(f"{FIRST}\n{THIRD}")

    assert set(memory.note().splitlines()) == {FIRST, SECOND, THIRD}


def test_who_went_back_may_replace_what_came_back(memory: Memory) -> None:
    memory.save(FIRST)
    memory.save(SECOND)
    memory.restore()

    memory.save(THIRD)

    assert memory.note() == THIRD


def test_who_wrote_is_on_record(project: Path) -> None:
    Memory(project, by="tool").save(FIRST, source="command")

    event = Memory(project).history()[0]
    assert (event.by, event.source) == ("tool", "command")


def test_the_brief_keeps_to_the_budget_it_is_given(memory: Memory) -> None:
    memory.save("\n".join(f"- [ ] item {number} of a long list" for number in range(200)))

    small, large = memory.brief(budget=200), memory.brief(budget=2000)

    assert len(small.text) < len(large.text)
    assert small.omitted.items > 0


def test_a_file_that_cannot_be_read_is_told_beside_what_is_on_record(memory: Memory, project: Path) -> None:
    memory.save(FIRST)
    view(project).write_bytes(b"\xff\xfe")

    assert memory.note() == FIRST
    assert "is not UTF-8" in memory.problem()
    assert "Could not be read" in memory.brief().text


def test_a_log_that_cannot_be_read_is_no_empty_note(memory: Memory, project: Path) -> None:
    (project / ".pi" / "carryover.log").mkdir(parents=True)

    for call in (memory.note, memory.brief, memory.state, memory.history, memory.clear, memory.restore):
        with pytest.raises((StoreUnavailable, NotFound)):
            call()
    with pytest.raises(StoreUnavailable):
        memory.save(FIRST)


def test_an_empty_note_is_refused(memory: Memory) -> None:
    with pytest.raises(EventRefused):
        memory.save(" ")


def test_the_home_folder_has_no_memory() -> None:
    with pytest.raises(ProjectError):
        Memory(Path.home())


def test_every_error_is_of_one_family() -> None:
    assert all(issubclass(error, CarryoverError) for error in (EventRefused, NotFound, ProjectError, StoreUnavailable))
