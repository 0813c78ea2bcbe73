"""Side by side with pi-carryover 1.x, which knows nothing of us."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from carryover.memory.events import Event, is_id
from carryover.memory.note import items
from carryover.store import history
from carryover.store.log import Log
from carryover.store.store import Store
from carryover.store.views import Kind

Save = Callable[..., Event]
Stores = Callable[..., Store]
RAW = "<!-- carryover: 降级抓取 @ 2026-11-30T02:00:00.000Z -->\n"


class Old:
    """What pi-carryover 1.x does to the files of a project."""

    LARGEST = 1_000_000

    def __init__(self, folder: Path, clock: Callable[[], datetime]) -> None:
        self.note = folder / "CARRYOVER.md"
        self.log = folder / "carryover.log"
        self.clock = clock

    def save(self, text: str) -> None:
        self.note.parent.mkdir(exist_ok=True)
        if self.log.exists() and self.log.stat().st_size > self.LARGEST:
            self.log.replace(self.log.with_name("carryover.log.1"))
        self.note.write_text(text, encoding="utf-8")
        with self.log.open("a", encoding="utf-8", newline="") as file:
            file.write(entry(text, self.clock()))

    def shown(self) -> str:
        return self.note.read_text(encoding="utf-8")


def entry(text: str, at: datetime) -> str:
    time = at.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    return f"```carryover-entry\n@ {time}\n{text}\n```\n"


@pytest.fixture
def old(project: Path, clock: Callable[[], datetime]) -> Old:
    return Old(project / ".pi", clock)


def open_items(store: Store) -> list[str]:
    note = store.known().state.note()
    return [item.text for item in items(note.text)] if note else []


# ---------------------------------------------------------------- its log


def test_its_entries_are_read_as_notes(store: Store, old: Old) -> None:
    old.save("# TODO\n- one")
    old.save("# TODO\n- two")

    reading = store.log.read()

    assert [(event.op, event.source, event.text) for event in reading.events] == [
        ("note", "import", "# TODO\n- one"),
        ("note", "import", "# TODO\n- two"),
    ]
    assert [event.at for event in reading.events] == sorted(event.at for event in reading.events)
    assert all(is_id(event.id) for event in reading.events)
    assert reading.damaged == 0


@pytest.mark.parametrize(
    "text",
    [
        "- run:\n```sh\nmake test\n```\n- then ship",
        "```\nonly code\n```",
        "```json\n{\n```\n\n```\n}\n```",
        '- it logs\n{"v":1,"level":"info"}\n- see above',
        "",
        "\n\n- blank lines around\n\n",
        "- ends in a fence\n```",
    ],
)
def test_a_note_with_fences_in_it_is_read_whole(store: Store, old: Old, save: Save, text: str) -> None:
    old.save(text)
    old.save("- next")
    save(store, "- [ ] ours")

    reading = store.log.read()

    assert [event.text for event in reading.events] == [text.strip("\n"), "- next", "- [ ] ours"]
    assert reading.damaged == 0


def test_every_reading_makes_the_same_event_of_an_entry(store: Store, stores: Stores, old: Old) -> None:
    old.save("- one")

    first, second = store.log.read().events[0], stores().log.read().events[0]

    assert first.fields == second.fields


def test_the_same_note_saved_twice_is_two_events(store: Store, old: Old) -> None:
    old.save("- one")
    old.save("- one")

    assert len({event.id for event in store.log.read().events}) == 2


@pytest.mark.parametrize("time", ["", "@ ", "@ yesterday", "@ 9999-12-31T23:59:59Z", "@ 0001-01-01T00:00:00", "@ ٣"])
def test_an_entry_without_a_usable_time_is_read_and_blocks_nobody(
    store: Store, save: Save, project: Path, time: str
) -> None:
    (project / ".pi").mkdir()
    (project / ".pi" / "carryover.log").write_text(f"```carryover-entry\n{time}\n- one\n```\n", encoding="utf-8")

    saved = save(store, "- [ ] ours")

    events = store.log.read().events
    assert "- one" in events[0].text
    assert is_id(events[0].id)
    assert saved.id > events[0].id


def test_an_entry_whose_end_is_missing_is_counted_and_replaces_nothing(store: Store, old: Old, save: Save) -> None:
    save(store, "- [ ] ours")
    with old.log.open("a", encoding="utf-8") as file:
        file.write("```carryover-entry\n@ 2026-11-30T02:00:00.000Z\n- half a no")

    save(store, "- [ ] ours\n- [ ] ours too")

    known = store.known()
    assert open_items(store) == ["ours", "ours too"]
    assert [(damage.line, damage.reason) for damage in known.damage] == [
        (2, "an entry of pi-carryover that was cut short")
    ]
    assert "- half a no" in store.log.path.read_text(encoding="utf-8")


def test_an_entry_that_is_still_being_written_waits(store: Store, old: Old, save: Save) -> None:
    save(store, "- [ ] ours")
    whole = entry("- theirs", datetime(2027, 1, 1, tzinfo=UTC)).encode()

    for cut in range(len(whole) - 1):
        old.log.write_bytes(old.log.read_bytes()[: store.known().position.offset] + whole[:cut])
        assert open_items(store) == ["ours"]
        assert store.known().damaged == 0
    old.log.write_bytes(old.log.read_bytes()[: store.known().position.offset] + whole)

    assert open_items(store) == ["theirs"]


def test_an_entry_glued_to_our_last_line_hides_neither(store: Store, old: Old, save: Save) -> None:
    save(store, "- [ ] ours")
    store.log.path.write_bytes(store.log.path.read_bytes()[:-1])

    old.save("- theirs")
    reading = store.log.read()

    assert [event.text for event in reading.events] == ["- [ ] ours", "- theirs"]
    assert [(damage.line, damage.reason) for damage in reading.damage] == [(1, "glued lines")]


# ---------------------------------------------------------------- its renamed log


def test_a_log_that_it_renamed_is_read_before_anybody_saves(store: Store, stores: Stores, old: Old, save: Save) -> None:
    save(store, "- [ ] ours")
    store.log.path.replace(store.log.renamed)
    known = store.known()

    assert open_items(store) == ["ours"]
    assert open_items(stores()) == ["ours"]
    assert known.damaged == 0


def test_a_log_that_it_renamed_becomes_a_segment_at_the_next_save(store: Store, old: Old, save: Save) -> None:
    save(store, "- [ ] ours")
    content = store.log.path.read_bytes()
    store.log.path.replace(store.log.renamed)

    old.save("- theirs")
    save(store, "- [ ] ours again")

    assert store.log.segment(1).read_bytes() == content
    assert not store.log.renamed.exists()
    assert [event.text for event in store.log.read().events] == ["- [ ] ours", "- theirs", "- [ ] ours again"]


def test_its_rotation_loses_nothing_while_we_are_there(
    store: Store, old: Old, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Old, "LARGEST", 1500)
    expected = []

    for number in range(12):
        old.save(f"- theirs {number} " + "x" * 400)
        old.save(f"- theirs {number} again " + "x" * 400)
        save(store, f"- [ ] ours {number}")
        expected += [f"- theirs {number} " + "x" * 400, f"- theirs {number} again " + "x" * 400, f"- [ ] ours {number}"]

    reading = store.log.read()
    assert [event.text for event in reading.events if event.source in ("import", "agent")] == expected
    assert len(store.log.pieces()) > 3
    assert reading.damaged == 0


# ---------------------------------------------------------------- its note


def test_its_note_is_taken_up_on_the_first_day(store: Store, old: Old, save: Save) -> None:
    old.save("<!-- carryover: LLM 摘要 @ 2026-11-30T02:00:00.000Z -->\n# TODO\n- one")

    state, said = store.delivered()
    note = state.note()

    assert note is not None
    assert note.text == "# TODO\n- one"
    assert said == ""


def test_its_note_is_taken_up_when_its_log_was_thrown_away(store: Store, old: Old, save: Save) -> None:
    old.save("# TODO\n- one")
    old.log.unlink()

    with store.writing() as writer:
        base = writer.base
        writer.append("note", by="agent", source="agent", base=base, text="- one\n- two")

    assert [event.source for event in store.log.read().events] == ["import", "agent"]
    assert open_items(store) == ["one", "two"]


def test_a_note_it_wrote_over_ours_is_the_note_and_ours_can_be_restored(store: Store, old: Old, save: Save) -> None:
    save(store, "- [ ] ours")
    old.save("- theirs")

    assert store.view(store.known().state).kind is Kind.FOREIGN
    with store.writing():
        pass

    assert open_items(store) == ["theirs"]
    assert history.previous(store.log, "").text == "- [ ] ours"
    assert len(store.log.read().events) == 2


def test_its_raw_fallback_does_not_replace_a_good_note(store: Store, old: Old, save: Save) -> None:
    save(store, "- [ ] ours")

    old.save(f"{RAW}- said this\n- said that")
    with store.writing() as writer:
        writer.append("set", by="agent", rec="x", to="done")

    assert open_items(store) == ["ours"]
    assert [tail.text for tail in store.known().state.tails()] == ["- said this\n- said that"]
    assert old.shown().startswith("- [ ] ours\n\n<!-- carryover tail ")


def test_its_raw_fallback_in_the_file_alone_is_kept_beside_the_note_too(store: Store, old: Old, save: Save) -> None:
    save(store, "- [ ] ours")
    old.note.write_text(f"{RAW}- said this", encoding="utf-8")

    for _ in range(2):
        with store.writing() as writer:
            writer.append("set", by="agent", rec="x", to="done")

    assert open_items(store) == ["ours"]
    assert [tail.text for tail in store.known().state.tails()] == ["- said this"]


def test_what_it_cleared_is_cleared(store: Store, old: Old, save: Save) -> None:
    save(store, "- [ ] ours")

    old.save("")

    assert open_items(store) == []
    assert history.previous(store.log, "").text == "- [ ] ours"


def test_twenty_saves_by_turns_lose_nothing(store: Store, old: Old, save: Save) -> None:
    """Each was shown what stands, and adds an item; what it was shown has our comment in it."""
    old.save("# TODO")
    expected = []

    for number in range(20):
        expected.append(f"item {number}")
        if number % 2:
            old.save(f"{old.shown().rstrip()}\n- [ ] item {number}\n")
        else:
            note = store.delivered()[0].note()
            assert note is not None
            save(store, f"{note.text}\n- [ ] item {number}")

    assert [item for item in open_items(store) if item.startswith("item")] == expected
    assert store.known().damaged == 0
    assert Log(store.log.folder).read().damaged == 0
    texts = [event.text for event in store.log.read().events]
    assert all(any(f"item {number}" in text for text in texts) for number in range(20))
