"""Two writers of the note, two logs of it, and a clock that goes wrong."""

from __future__ import annotations

import itertools
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from carryover.errors import EventRefused
from carryover.memory.note import items
from tests.session.play import Place, Played

PARSER = "- [ ] the parser"
PRINTER = "- [ ] the printer"
PROFILER = "- [ ] the profiler"
WORDS = "the lexer drops the last newline of a heredoc"


def open_items(text: str) -> set[str]:
    return {item.text for item in items(text.replace("\n> ", "\n"))}


def at_work(place: Place, name: str) -> Played:
    session = place.session(name).start()
    session.turn(f"hello from {name}")
    return session


# ---------------------------------------------------------------- two live sessions


def test_both_sessions_open_items_stand_in_the_view_and_in_the_next_block(place: Place) -> None:
    one, two = at_work(place, "one"), at_work(place, "two")

    one.save(PARSER)
    told = two.save(PRINTER)

    block = place.next_block()
    view = place.view.read_text("utf-8")
    assert "its open items were kept beside yours" in told
    assert "2 open items" in told
    for note in (PARSER, PRINTER):
        assert view.count(note) == 1
        assert block.count(note) == 1


def test_saving_again_right_after_a_merge_erases_nothing(place: Place) -> None:
    one, two = at_work(place, "one"), at_work(place, "two")
    one.save(PARSER)
    two.save(PRINTER)

    two.save(f"{PRINTER}\n{PROFILER}")

    assert open_items(place.note) == {"the parser", "the printer", "the profiler"}


def test_after_a_merge_the_own_items_can_be_deleted(place: Place) -> None:
    one, two = at_work(place, "one"), at_work(place, "two")
    one.save(PARSER)
    two.save(f"{PRINTER}\n{PROFILER}")

    two.save(PROFILER)

    assert open_items(place.note) == {"the parser", "the profiler"}


def test_what_was_merged_is_told_with_the_next_prompt_and_may_be_deleted_then(place: Place) -> None:
    one, two = at_work(place, "one"), at_work(place, "two")
    one.save(PARSER)
    two.save(PRINTER)

    told = two.turn("what is open?").message
    two.save(PRINTER)

    assert "> - [ ] the parser" in str(told)
    assert place.note == PRINTER


def test_an_agent_that_was_shown_an_older_note_merges(place: Place) -> None:
    place.memory().save(f"{PARSER}\n{PRINTER}")
    one, two = at_work(place, "one"), at_work(place, "two")
    one.save(f"{PARSER}\n{PRINTER}\n{PROFILER}")

    two.save(PARSER)

    assert open_items(place.note) == {"the parser", "the profiler"}


def test_what_the_agent_was_shown_it_may_delete(place: Place) -> None:
    place.memory().save(f"{PARSER}\n{PRINTER}")
    session = at_work(place, "one")

    told = session.save(PARSER)

    assert told == "Saved: 1 open items for the next session."
    assert place.note == PARSER


def test_what_was_told_by_a_compaction_may_be_deleted(place: Place) -> None:
    session = at_work(place, "one")
    place.memory().save(f"{PARSER}\n{PRINTER}")
    session.host.compacted()

    session.save(PARSER)

    assert place.note == PARSER


def test_a_save_before_the_first_prompt_erases_nothing(place: Place) -> None:
    place.memory().save(PARSER)

    place.session("one").start().host.save(PRINTER)

    assert open_items(place.note) == {"the parser", "the printer"}


def test_an_edit_that_came_after_the_agent_was_shown_the_note_is_merged(place: Place) -> None:
    place.memory().save(PARSER)
    session = at_work(place, "one")
    place.view.write_text(f"{PROFILER}\n{place.view.read_text('utf-8')}", "utf-8")

    session.save(f"{PARSER}\n{PRINTER}")

    assert open_items(place.note) == {"the parser", "the printer", "the profiler"}


def test_an_edit_that_the_agent_was_shown_may_be_deleted_before_it_is_on_record(place: Place) -> None:
    place.memory().save(PARSER)
    place.view.write_text(f"{PROFILER}\n{place.view.read_text('utf-8')}", "utf-8")
    session = place.session("one", mode="print").start()
    session.ask("hello")

    session.save(PRINTER)

    assert place.sources == ["agent", "edit", "agent"]
    assert place.note == PRINTER


def test_a_tail_that_the_agent_was_not_shown_stands_after_its_saves(place: Place) -> None:
    one = at_work(place, "one")
    two = at_work(place, "two")
    two.turn(WORDS)
    two.end()

    one.save(PARSER)
    one.save(PRINTER)

    assert WORDS in place.tails[0]
    assert place.note == PRINTER


def test_a_tail_that_the_agent_was_shown_goes_into_its_note(place: Place) -> None:
    two = at_work(place, "two")
    two.turn(WORDS)
    two.end()

    at_work(place, "one").save(PARSER)

    assert place.tails == []
    assert WORDS in place.log.read_text("utf-8")


def test_finished_items_are_dropped_and_the_agent_is_told(place: Place) -> None:
    session = at_work(place, "one")

    told = session.save(f"{PARSER}\n- [x] the lexer\n- ~~the linker~~\n\n## Done\n- the loader\n")

    assert told == "Saved: 1 open items for the next session. Finished items were dropped."
    assert place.note == PARSER
    assert PARSER in place.next_block()


@pytest.mark.parametrize("content", ["", " \n\t", "\x00\x01", "x" * 200_001])
def test_a_note_that_cannot_be_is_refused_and_changes_nothing(place: Place, content: str) -> None:
    session = at_work(place, "one")
    session.save(PARSER)
    before = place.stored

    with pytest.raises(EventRefused, match="not saved"):
        session.host.save(content)

    assert place.stored == before


class Writer:
    """An agent that keeps every item it was shown, but for the one it is told to take out."""

    def __init__(self, session: Played) -> None:
        self.session = session.start()
        self.known: list[str] = []
        self.system = ""

    def prompt(self) -> None:
        delivery = self.session.host.prompt("go on")
        if delivery.system != self.system:
            self.system = delivery.system
            self.learn(delivery.system)
        self.learn(delivery.message or "")

    def compacted(self) -> None:
        self.known = []
        self.system = self.session.host.compacted()
        self.learn(self.system)

    def learn(self, told: str) -> None:
        if "was cleared" in told or open_items(told):
            self.known = sorted(item for item in open_items(told) if item.startswith("item"))

    def save(self) -> None:
        self.session.host.save("\n".join(f"- [ ] {item}" for item in self.known) or "Nothing is open.")


class Editor:
    """A person with the file in an editor."""

    def __init__(self, place: Place) -> None:
        self.view = place.view

    @property
    def known(self) -> list[str]:
        return sorted(open_items(self.text))

    @property
    def text(self) -> str:
        return self.view.read_text("utf-8") if self.view.exists() else ""

    def add(self, item: str) -> None:
        self.view.parent.mkdir(exist_ok=True)
        self.view.write_text(f"- [ ] {item}\n{self.text}", "utf-8")

    def remove(self, item: str) -> None:
        self.view.write_text(self.text.replace(f"- [ ] {item}\n", ""), "utf-8")


STEPS = st.tuples(st.sampled_from(["one", "two", "person"]), st.sampled_from(["add", "remove", "hear", "compact"]))


@settings(deadline=None, max_examples=40, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(STEPS, max_size=14))
def test_what_anybody_added_stands_until_somebody_who_was_shown_it_takes_it_out(
    tmp_path: Path, steps: list[tuple[str, str]]
) -> None:
    folder = Path(tempfile.mkdtemp(dir=tmp_path))
    place = Place(folder, folder)
    writers = {name: Writer(place.session(name)) for name in ("one", "two")}
    person = Editor(place)
    expected = {"item to begin with"}
    place.memory().save("- [ ] item to begin with")

    for number, (who, what) in enumerate(steps):
        item = f"item {number} of {who}"
        writer = writers.get(who)
        known = writer.known if writer else person.known
        gone = known[number % len(known)] if known else None
        if what == "add":
            expected.add(item)
        elif what == "remove" and gone:
            expected.discard(gone)
        if writer is None:
            if what == "add":
                person.add(item)
            elif what == "remove" and gone:
                person.remove(gone)
        elif what == "hear":
            writer.prompt()
        elif what == "compact":
            writer.compacted()
        elif what == "add":
            writer.known.append(item)
            writer.save()
        elif gone:
            writer.known.remove(gone)
            writer.save()

    assert open_items(place.note) - {"Nothing is open."} == expected


# ---------------------------------------------------------------- the clock


def test_a_clock_that_is_set_back_a_day_loses_nothing(place: Place) -> None:
    session = at_work(place, "one")
    session.save(PARSER)
    place.clock.pass_by(days=-1)
    session.turn("go on")

    session.save(PRINTER)
    session.turn(WORDS)
    session.end()
    place.clock.pass_by(days=-1)
    later = place.session("two").start()
    block = later.turn("hello").system
    later.save(f"{PRINTER}\n{PROFILER}")

    ids = [event["id"] for event in place.events]
    assert f"> {PRINTER}" in block
    assert WORDS in block
    assert open_items(place.note) == {"the printer", "the profiler"}
    assert ids == sorted(ids)
    assert place.view.read_text("utf-8").startswith(place.note)


# ---------------------------------------------------------------- two logs of one project


def copies(place: Place, tmp_path: Path) -> tuple[Place, Place]:
    """Two copies of a project that has had a note, in which people go on apart from each other."""
    place.memory().save(f"{PARSER}\n{PRINTER}")
    made = []
    for name in ("left", "right"):
        shutil.copytree(place.project, tmp_path / name)
        made.append(Place(tmp_path / name, place.sessions, place.clock))
    return made[0], made[1]


def joined(one: Place, other: Place, tmp_path: Path) -> Place:
    """The first, after the lines of the other's log were appended to its own."""
    project = tmp_path / f"{one.project.name}-{other.project.name}"
    shutil.copytree(one.project, project)
    with (project / ".pi" / "carryover.log").open("ab") as log:
        log.write(other.log.read_bytes())
    return Place(project, one.sessions, one.clock)


def save_left(place: Place) -> None:
    place.memory().save(f"{PARSER}\n{PRINTER}\n- [ ] left")


def restore_right(place: Place) -> None:
    place.memory().save("- [ ] a detour")
    place.memory().restore()


def clear_right(place: Place) -> None:
    place.memory().clear()


def save_right(place: Place) -> None:
    place.memory().save(f"{PRINTER}\n- [ ] right")


@pytest.mark.parametrize(
    ("there", "expected"),
    [
        (save_right, {"the printer", "left", "right"}),
        (restore_right, {"the parser", "the printer", "left"}),
        (clear_right, {"left"}),
    ],
)
def test_two_logs_join_to_the_same_state_in_either_order_and_nothing_vanishes(
    place: Place, tmp_path: Path, there: object, expected: set[str]
) -> None:
    left, right = copies(place, tmp_path)
    place.clock.pass_by(hours=1)
    save_left(left)
    there(right)  # type: ignore[operator]

    one, other = joined(left, right, tmp_path), joined(right, left, tmp_path)

    assert open_items(one.note) == open_items(other.note) == expected
    for both in (one, other):
        texts = {event["text"] for event in both.events if event["op"] == "note"}
        session = both.session("next").start()
        block = session.turn("go on").system
        assert {f"> - [ ] {item}" in block for item in expected} == {True}
        assert both.events[-1]["source"] == "import"
        assert open_items(both.note) == expected
        assert {item: item in both.view.read_text("utf-8") for item in expected} == dict.fromkeys(expected, True)
        assert texts <= {event["text"] for event in both.events if event["op"] == "note"}


def test_a_restore_that_came_last_wins_whatever_the_clocks_say(place: Place, tmp_path: Path) -> None:
    left, right = copies(place, tmp_path)
    left.memory().save(PROFILER)
    both = joined(left, right, tmp_path)
    place.clock.pass_by(days=-1)

    both.session("one").start().command("restore")

    assert open_items(both.note) == {"the parser", "the printer"}
    assert f"> {PARSER}" in both.next_block()


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_a_clear_of_what_both_knew_and_a_later_save_join_to_the_save(
    place: Place, tmp_path: Path, order: tuple[int, ...]
) -> None:
    left, right = copies(place, tmp_path)
    left.memory().clear()
    place.clock.pass_by(hours=1)
    left.memory().save(PROFILER)
    both = joined(left, right, tmp_path)
    lines = both.log.read_bytes().splitlines(keepends=True)[:3]
    both.log.write_bytes(b"".join(lines[at] for at in order))

    assert open_items(both.note) == {"the profiler"}


def test_tails_of_both_logs_stand_after_they_were_joined(place: Place, tmp_path: Path) -> None:
    left, right = copies(place, tmp_path)
    for side, name in ((left, "one"), (right, "two")):
        session = side.session(name).start()
        session.turn(f"{WORDS} in {name}")
        session.end()

    block = joined(left, right, tmp_path).next_block()

    assert f"{WORDS} in one" in block
    assert f"{WORDS} in two" in block
