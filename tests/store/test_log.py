from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carryover.errors import StoreUnavailable
from carryover.memory.events import Event
from carryover.store import log as logs
from carryover.store.codec import encode
from carryover.store.files import SYSTEM, FileSystem
from carryover.store.log import Changed, Damage, Log, Position, Reading
from carryover.store.store import Store

Lines = Callable[..., list[bytes]]
Save = Callable[..., Event]
Stores = Callable[..., Store]


@pytest.fixture
def log(project: Path) -> Log:
    return Log(project)


def texts(reading: Reading) -> list[str]:
    return [event.text for event in reading.events]


# ---------------------------------------------------------------- damage


def test_no_log_is_an_empty_one(log: Log) -> None:
    assert log.read() == Reading()


def test_a_log_cut_anywhere_in_its_last_line_keeps_the_rest_and_takes_the_next(
    log: Log, lines: Lines, subtests: pytest.Subtests
) -> None:
    first, last, later = lines("first", "last", "later")

    for kept in range(len(last) + 1):
        with subtests.test(kept=kept):
            log.path.write_bytes(first + last[:kept])
            before = log.read()
            log.append(later)
            after = log.read()

            whole = kept >= len(last) - 1
            up_to_its_checksum = kept >= len(last) - len('"}\n')
            assert texts(before) == ["first", "last"][: 1 + whole]
            assert before.torn == (kept > 0 and not whole)
            assert texts(after) == ["first", *["last"][:up_to_its_checksum], "later"]
            assert [damage.line for damage in after.damage] == ([] if whole or not kept else [2])
            assert after.damaged == len(after.damage)
            assert not after.torn
            assert log.path.read_bytes().endswith(b"\n" + later)


def test_every_kind_of_damage_is_counted_and_named_by_its_line(log: Log, lines: Lines) -> None:
    one, two, three, four, five = lines("one", "two", "three", "four", "five")
    log.path.write_bytes(
        b"".join(
            (
                one,
                b"\n",
                b"\0" * 64 + b"\n",
                b"\0\0" + two,
                b"garbage \xff\xfe\n",
                three.strip() + four,
                three[:40] + b"\n",
                b'{"v":1,"id":"x","op":"note","sum":"00000000"}\n',
                five,
            )
        )
    )

    reading = log.read()

    assert texts(reading) == ["one", "two", "three", "four", "five"]
    assert reading.damaged == 7
    assert reading.damage == [
        Damage(1, 2, "blank line"),
        Damage(1, 3, "NUL bytes"),
        Damage(1, 4, "NUL bytes"),
        Damage(1, 5, "no checksum"),
        Damage(1, 6, "glued lines"),
        Damage(1, 7, "no checksum"),
        Damage(1, 8, "wrong checksum"),
    ]


def test_damage_is_left_where_it_is(log: Log, lines: Lines) -> None:
    one, two = lines("one", "two")
    log.path.write_bytes(one + b"garbage\n")

    log.append(two)

    assert log.path.read_bytes() == one + b"garbage\n" + two


@pytest.mark.parametrize("damage", [b"\0" * 40, b"\0" * 40 + b"\n", b"\n", b"\n\n", b'{"v":1,"id":"', b"glued"])
def test_what_is_appended_after_damage_is_readable(log: Log, lines: Lines, damage: bytes) -> None:
    one, two, three = lines("one", "two", "three")
    log.path.write_bytes(one + damage)

    log.append(two)
    log.append(three)

    assert texts(log.read()) == ["one", "two", "three"]


def test_a_mark_at_the_start_and_foreign_line_ends_are_no_damage(log: Log, lines: Lines) -> None:
    one, two, three = lines("one", "two", "three")
    log.path.write_bytes(b"\xef\xbb\xbf" + one.replace(b"\n", b"\r\n") + two.replace(b"\n", b"\r\n"))

    log.append(three)
    reading = log.read()

    assert texts(reading) == ["one", "two", "three"]
    assert reading.damaged == 0


def test_a_torn_event_that_another_was_glued_to_does_not_hide_it(log: Log, lines: Lines) -> None:
    one, two, three = lines("one", "two", "three")
    log.path.write_bytes(one + two[:50] + three)

    reading = log.read()

    assert texts(reading) == ["one", "three"]
    assert reading.damage == [Damage(1, 2, "glued lines")]


def test_many_damaged_lines_are_all_counted_and_some_named(log: Log) -> None:
    log.path.write_bytes(b"garbage\n" * 1000)

    reading = log.read()

    assert reading.damaged == 1000
    assert [damage.line for damage in reading.damage] == list(range(1, logs.NAMED_DAMAGE + 1))


def test_a_later_version_is_read_and_counted_and_not_written_over(log: Log, lines: Lines) -> None:
    one, two = lines("one", "two")
    fields = {**json.loads(one), "v": 2, "text": "from the future", "shape": {"new": True}}
    del fields["sum"]
    future = encode(fields, None)
    log.path.write_bytes(future)

    log.append(two)
    reading = log.read()

    assert texts(reading) == ["from the future", "two"]
    assert reading.newer == 1
    assert reading.damaged == 0
    assert log.path.read_bytes() == future + two


def test_a_log_that_cannot_be_read_is_not_an_empty_one(log: Log) -> None:
    log.path.mkdir()

    with pytest.raises(StoreUnavailable, match=r"carryover\.log is not a regular file"):
        log.read()
    with pytest.raises(StoreUnavailable, match="is not a regular file"):
        log.find("01JDZZZZZZZZZZZZZZZZZZZZZZ")
    with pytest.raises(StoreUnavailable, match="is not a regular file"):
        log.newest(1, lambda event: True)


# ---------------------------------------------------------------- reading on


@given(data=st.data())
def test_reading_on_is_the_same_as_reading_everything(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    log = Log(tmp_path_factory.mktemp("log"))
    event = encode({"v": 1, "id": "01JDZZZZZZZZZZZZZZZZZZZZZZ", "op": "note", "text": "- [ ] x"}, None)
    entry = b"```carryover-entry\n@ 2026-11-30T09:00:00.000Z\n# TODO\n```sh\nls\n```\n- x\n```\n"
    kinds = st.sampled_from(
        [
            event,
            event[:-1],
            event[:30],
            entry,
            entry[:-4],
            b"\n",
            b"\0\0",
            b"garbage\n",
            b"\xef\xbb\xbf",
            b"\r\n",
            b"```\n",
        ]
    )
    pieces = data.draw(st.lists(kinds, max_size=8))
    stream = b"".join(pieces)
    settled = b"\n" + event if stream and not stream.endswith(b"\n") else event
    cuts = sorted(data.draw(st.lists(st.integers(0, len(stream)), max_size=6)))

    events, damaged, position = [], 0, None
    for part in (*(stream[start:end] for start, end in pairwise([0, *cuts, len(stream)])), settled):
        with log.path.open("ab") as file:
            file.write(part)
        reading = log.read(position)
        position = reading.position
        events += reading.events
        damaged += reading.damaged
    whole = log.read()

    if not any(entry_ends_early(stream, cut) for cut in cuts):
        assert [event.fields for event in events] == [event.fields for event in whole.events]
        assert (damaged, position, reading.torn) == (whole.damaged, whole.position, whole.torn)


def entry_ends_early(stream: bytes, cut: int) -> bool:
    """Whether an entry of pi-carryover seemed finished at *cut*: a fence in it looks like its end."""
    before = stream[:cut]
    opened = before.rfind(b"```carryover-entry\n")
    return (
        opened >= 0 and before.endswith(b"\n") and b"\n```\n" in before[opened:] and not stream[cut:].startswith(b"{")
    )


def test_reading_on_in_a_log_that_was_changed_before_there_is_refused(log: Log, lines: Lines) -> None:
    one, two = lines("one", "two")
    log.path.write_bytes(one + two)
    position = log.read().position

    log.path.write_bytes(two + one)

    with pytest.raises(Changed):
        log.read(position)


def test_reading_on_in_a_log_that_was_taken_away_is_refused(log: Log, lines: Lines) -> None:
    log.path.write_bytes(b"".join(lines("one")))
    position = log.read().position

    log.path.unlink()

    with pytest.raises(Changed):
        log.read(position)
    assert log.read(Position()) == Reading()


# ---------------------------------------------------------------- rotation


def test_three_rotations_drop_nothing(stores: Stores, save: Save, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "ROTATE_AT", 1000)
    store = stores()

    saved = [save(store, f"- [ ] item {number}").text for number in range(20)]

    names = sorted(path.name for path in store.log.folder.glob("carryover*.log"))
    assert len(names) > 4
    assert names == [*(f"carryover.{number:04}.log" for number in range(1, len(names))), "carryover.log"]
    assert texts(store.log.read()) == saved
    assert stores().known().state == store.known().state


def test_the_number_of_a_segment_is_never_given_twice(log: Log, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs, "ROTATE_AT", 1)
    one, two, three, four = lines("one", "two", "three", "four")
    for line in (one, two, three):
        log.append(line)
    log.segment(1).unlink()

    log.append(four)
    reading = log.read()

    assert sorted(log.pieces()) == [2, 3, 4]
    assert texts(reading) == ["two", "three", "four"]
    assert reading.damage == [Damage(2, 0, "the segments before it are missing")]


def test_a_finished_segment_is_never_touched_again(log: Log, lines: Lines, monkeypatch: pytest.MonkeyPatch) -> None:
    one, two, three = lines("one", "two", "three")
    log.append(one + two[:-1])
    monkeypatch.setattr(logs, "ROTATE_AT", 1)

    log.append(three)

    assert log.segment(1).read_bytes() == one + two[:-1]
    assert texts(log.read()) == ["one", "two", "three"]
    assert log.read().damaged == 0


def test_damage_at_the_end_of_a_segment_is_counted_once(
    log: Log, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = lines("one", "two", "three")
    log.segment(1).write_bytes(one + two[:40])
    before = log.read()

    log.append(three)
    after = log.read(before.position)

    assert before.damage == [Damage(1, 2, "cut short: no checksum")]
    assert texts(after) == ["three"]
    assert after.damage == []


@pytest.mark.parametrize("name", ["carryover.99999999999999999999.log", "carryover.0000.log", "carryover.00002.log"])
def test_a_segment_that_we_did_not_number_hangs_nobody(log: Log, lines: Lines, name: str) -> None:
    one, two = lines("one", "two")
    (log.folder / name).write_bytes(one)

    log.append(two)

    assert "two" in texts(log.read())


class Interrupted(FileSystem):
    """Lets something happen while a file is being renamed."""

    def __init__(self) -> None:
        self.during: list[Callable[[], None]] = []

    def replace(self, source: Path, target: Path) -> None:
        super().replace(source, target)
        for call in self.during:
            call()


def test_who_reads_during_a_rotation_sees_everything_once(
    project: Path, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logs, "ROTATE_AT", 1)
    system = Interrupted()
    writing, reader = Log(project, system), Log(project)
    seen: list[str] = []
    positions: list[Position | None] = [None]

    def look() -> None:
        reading = reader.read(positions[-1])
        assert reading.damaged == 0
        seen.extend(texts(reading))
        positions.append(reading.position)

    system.during.append(look)
    for line in lines(*map(str, range(6))):
        writing.append(line)
    look()

    assert seen == [str(number) for number in range(6)]


@pytest.mark.parametrize("at", range(1, 4))
def test_a_rotation_between_any_two_steps_of_a_reader_is_noticed(
    log: Log, lines: Lines, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr(logs, "ROTATE_AT", 1)
    one, two, three, four = lines("one", "two", "three", "four")
    log.append(one)
    position = log.read().position
    writer, looks = Log(log.folder), 0
    for line in (two, three):
        writer.append(line)
    pieces = Log.pieces

    def pieces_with_a_rotation(self: Log, since: int = 1) -> dict[int, Path]:
        nonlocal looks
        found = pieces(self, since)
        looks += self is log
        if self is log and looks == at:
            writer.append(four)
        return found

    monkeypatch.setattr(Log, "pieces", pieces_with_a_rotation)
    first = log.read(position)
    second = log.read(first.position)
    third = log.read(second.position)

    assert texts(first) + texts(second) + texts(third) == ["two", "three", "four"]
    assert first.damaged + second.damaged + third.damaged == 0


# ---------------------------------------------------------------- finding


def test_an_event_is_found_in_any_segment_and_in_a_glued_line(
    log: Log, lines: Lines, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two, three = lines("one", "two", "three")
    log.segment(1).write_bytes(one)
    log.path.write_bytes(two.strip() + three)
    ids = [event.id for event in log.read().events]

    found = [log.find(one) for one in ids]

    assert [event.text for event in found if event] == ["one", "two", "three"]
    assert log.find("01JDZZZZZZZZZZZZZZZZZZZZZZ") is None


def test_the_newest_events_come_newest_first_and_each_once(log: Log, lines: Lines) -> None:
    one, two, three = lines("one", "two", "three")
    log.segment(1).write_bytes(one + two)
    log.path.write_bytes(two + three)

    assert [event.text for event in log.newest(5, lambda event: True)] == ["three", "two", "one"]
    assert [event.text for event in log.newest(1, lambda event: "o" in event.text)] == ["two"]


def test_a_first_append_makes_the_log_readable_by_its_owner_only(log: Log, lines: Lines) -> None:
    log.append(lines("one")[0])

    assert log.path.stat().st_mode & 0o077 == 0


def test_the_system_is_the_real_one_unless_told(project: Path) -> None:
    assert Log(project).system is SYSTEM
