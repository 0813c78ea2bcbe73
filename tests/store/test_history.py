from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest

from carryover.errors import NotFound
from carryover.memory.events import Event
from carryover.store import history
from carryover.store.store import Store

Save = Callable[..., Event]


@pytest.fixture
def saved(store: Store, save: Save, clock: Any) -> list[Event]:
    """A note a day: two notes, a raw tail, another tree's note, a clearing."""
    days = []
    for number, more in enumerate(({}, {}, {"source": "raw", "base": []}, {"tree": "feature", "base": []})):
        clock.time = datetime(2026, 11, 10 + number, 12, tzinfo=timezone(timedelta(hours=8)))
        days.append(save(store, f"- [ ] day {10 + number}", **more))
    with store.writing() as writer:
        days.append(writer.append("clear", by="human", base=writer.base))
    return days


def test_the_past_is_notes_and_clearings_of_one_tree_newest_first(store: Store, saved: list[Event]) -> None:
    one, two, _, elsewhere, cleared = saved

    assert [event.id for event in history.notes(store.log, "", 10)] == [cleared.id, two.id, one.id]
    assert [event.id for event in history.notes(store.log, "feature", 10)] == [elsewhere.id]
    assert [event.id for event in history.notes(store.log, "", 2)] == [cleared.id, two.id]


def test_the_note_before_the_one_that_stands_has_another_text(store: Store, saved: list[Event], save: Save) -> None:
    assert history.previous(store.log, "").id == saved[1].id

    save(store, "- [ ] again")
    save(store, "- [ ] again")

    assert history.previous(store.log, "").text == ""


def test_without_a_past_there_is_nothing_to_go_back_to(store: Store, save: Save) -> None:
    with pytest.raises(NotFound, match="there is no earlier note"):
        history.previous(store.log, "")

    save(store, "- [ ] one")
    with pytest.raises(NotFound, match="there is no earlier note"):
        history.previous(store.log, "x")


@pytest.mark.parametrize("length", [6, 8, 26])
def test_a_note_is_named_by_the_end_of_its_id(store: Store, saved: list[Event], length: int) -> None:
    assert history.note_named(store.log, "", saved[0].id[-length:].lower()).id == saved[0].id


@pytest.mark.parametrize(
    ("time", "index"),
    [
        ("2026-11-11T12:30+08:00", 1),
        ("2026-11-11T11:00+08:00", 0),
        ("2026-11-11T03:00:00Z", 0),
        ("2027-01-01", 4),
    ],
)
def test_a_time_means_the_note_that_stood_then(store: Store, saved: list[Event], time: str, index: int) -> None:
    assert history.note_named(store.log, "", time).id == saved[index].id


def test_a_day_means_its_end_on_this_computers_clock(store: Store, saved: list[Event]) -> None:
    local = datetime(2026, 11, 10, 23, 59, 59).astimezone()
    at_the_end = [event for event in saved[:2] if datetime.fromisoformat(event.at) <= local.astimezone(UTC)]

    assert history.note_named(store.log, "", "2026-11-10").id == at_the_end[-1].id


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("zzzzzzzz", "no note ends in 'zzzzzzzz', and it is no time"),
        ("12345", "no note ends in '12345'"),
        ("", "no note ends in ''"),
        ("../../etc", "no note ends in"),
        ("2020-01-01", "there was no note yet at 2020-01-01"),
    ],
)
def test_what_names_nothing_is_said_so(store: Store, saved: list[Event], name: str, reason: str) -> None:
    with pytest.raises(NotFound, match=reason):
        history.note_named(store.log, "", name)


def test_an_end_that_two_notes_share_is_not_enough(store: Store, lines: Callable[..., list[bytes]]) -> None:
    from carryover.store.codec import encode

    store.project.folder.mkdir()
    ids = ("01JDAAAAAAAAAAAAAAAAAAAAAA", "01JDBAAAAAAAAAAAAAAAAAAAAA")
    events = [encode({"v": 1, "id": one, "op": "note", "source": "agent", "text": one}, None) for one in ids]
    store.log.path.write_bytes(b"".join(events))

    with pytest.raises(NotFound, match="'AAAAAA' could mean 2 notes; give more characters"):
        history.note_named(store.log, "", "AAAAAA")
    assert history.note_named(store.log, "", ids[1]).text == ids[1]
