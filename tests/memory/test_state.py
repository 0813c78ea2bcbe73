from __future__ import annotations

import json
from collections.abc import Callable
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carryover.memory.events import Event
from carryover.memory.note import items
from carryover.memory.state import (
    HEADS,
    LINEAGE,
    SESSIONS,
    TAILS,
    OutOfOrder,
    State,
    dump,
    fold,
    load,
)

Make = Callable[..., Event]
SOURCES = ("agent", "summary", "command", "edit", "teammate", "restore", "import")


def event(number: int, op: str = "note", **fields: Any) -> Event:
    """The *number*-th event; ``base`` may be numbers."""
    base = [name(one) if isinstance(one, int) else one for one in fields.pop("base", [])]
    more = {"source": "agent", "text": f"- [ ] item {number}"} if op == "note" else {}
    at = f"2026-11-30T09:00:{number % 60:02}+08:00"
    return Event({"v": 1, "id": name(number), "at": at, "op": op, "base": base, **more, **fields}, str(number).encode())


def name(number: int) -> str:
    return f"01JD{number:022}"


def open_items(state: State, tree: str = "") -> set[str]:
    note = state.note(tree)
    return {item.text for item in items(note.text)} if note else set()


# ---------------------------------------------------------------- what stands


def test_nothing_on_record_is_no_note() -> None:
    state = fold([])

    assert state.note() is None
    assert state.tails() == ()
    assert state.base() == []


def test_a_note_replaces_what_it_was_made_from() -> None:
    state = fold([event(1), event(2, base=[1])])

    assert [head.id for head in state.heads[""]] == [name(2)]
    assert open_items(state) == {"item 2"}


def test_a_note_does_not_replace_what_its_writer_was_not_shown() -> None:
    state = fold(
        [
            event(1, text="- [ ] old"),
            event(2, base=[1], text="- [ ] old\n- [ ] mine"),
            event(3, base=[1], text="- [ ] old\n- [ ] yours"),
        ]
    )

    assert open_items(state) == {"old", "mine", "yours"}


def test_what_one_side_finished_does_not_come_back_from_the_other() -> None:
    state = fold(
        [
            event(1, text="- [ ] old\n- [ ] older"),
            event(2, base=[1], text="- [ ] old\n- [ ] older\n- [ ] mine"),
            event(3, base=[1], text="- [ ] older"),
        ]
    )

    assert open_items(state) == {"older", "mine"}


def test_what_was_added_before_a_second_fork_stays() -> None:
    """Both sides went on after the fork: an item is not gone because the other side never had it."""
    state = fold(
        [
            event(1, text="- [ ] old"),
            event(2, base=[1], text="- [ ] old\n- [ ] mine"),
            event(3, base=[1], text="- [ ] old\n- [ ] yours"),
            event(4, base=[2], text="- [ ] old\n- [ ] mine\n- [ ] mine too"),
            event(5, base=[3], text="- [ ] old\n- [ ] yours\n- [ ] yours too"),
        ]
    )

    assert open_items(state) == {"old", "mine", "mine too", "yours", "yours too"}


def test_a_note_made_from_something_unknown_takes_nothing_away() -> None:
    state = fold([event(1, text="- [ ] mine"), event(3, base=[2], text="- [ ] yours")])

    assert open_items(state) == {"mine", "yours"}


def test_finished_items_are_not_in_the_note_but_on_record() -> None:
    state = fold([event(1, text="- [x] done\n- [ ] open")])

    note = state.note()
    assert note is not None
    assert "done" not in note.text
    assert "done" in state.heads[""][0].text


def test_a_cleared_note_is_empty_and_can_be_made_from() -> None:
    cleared = fold([event(1), event(2, "clear", base=[1])])
    again = fold([event(3, base=[2])], cleared)

    assert open_items(cleared) == set()
    assert cleared.note() is not None
    assert open_items(again) == {"item 3"}


def test_clearing_takes_only_what_its_writer_was_shown() -> None:
    state = fold(
        [
            event(1, text="- [ ] old"),
            event(2, base=[1], text="- [ ] old\n- [ ] added meanwhile"),
            event(3, "clear", base=[1]),
        ]
    )

    assert open_items(state) == {"added meanwhile"}


def test_each_work_tree_has_a_note_of_its_own() -> None:
    state = fold([event(1, text="- [ ] main"), event(2, tree="feature", text="- [ ] feature")])

    assert open_items(state) == {"main"}
    assert open_items(state, "feature") == {"feature"}
    assert state.trees() == {"", "feature"}


def test_an_unknown_operation_is_counted_and_changes_nothing() -> None:
    state = fold([event(1), event(2, "teleport", text="- [ ] elsewhere")])

    assert state.events == 2
    assert state.last == name(2)
    assert open_items(state) == {"item 1"}


@pytest.mark.parametrize("value", [None, 7, ["x"], {"x": 1}, True])
@pytest.mark.parametrize(
    "field", ["text", "base", "tree", "session", "source", "covers", "origin", "at", "through", "host"]
)
def test_a_field_of_another_type_breaks_nothing(field: str, value: object) -> None:
    hostile = event(2)
    hostile.fields[field] = value

    state = fold([event(1), hostile, event(3, base=[1, 2])])

    assert open_items(state) >= {"item 3"}
    assert load(json.loads(json.dumps(dump(state)))) == state


# ---------------------------------------------------------------- raw tails


def raw(number: int, session: str = "", **more: Any) -> Event:
    return event(number, source="raw", session=session, covers=[3, 10], text=f"- said {number}", **more)


def test_a_raw_tail_stands_beside_the_note() -> None:
    state = fold([event(1), raw(2, "a")])

    assert open_items(state) == {"item 1"}
    assert [(tail.text, tail.covers) for tail in state.tails()] == [("- said 2", (3, 10))]
    assert state.base() == [name(1), name(2)]


def test_a_newer_tail_of_a_session_replaces_its_older_one() -> None:
    state = fold([raw(1, "a"), raw(2, "b"), raw(3, "a")])

    assert [tail.text for tail in state.tails()] == ["- said 2", "- said 3"]


def test_tails_go_when_a_note_was_made_from_them_or_its_own_session_saves() -> None:
    tails = [raw(1, "a"), raw(2, "b"), raw(3, "c")]

    shown = fold([*tails, event(4, base=[1])])
    own = fold([*tails, event(4, session="b")])

    assert [tail.session for tail in shown.tails()] == ["b", "c"]
    assert [tail.session for tail in own.tails()] == ["a", "c"]


def test_more_tails_than_are_shown_are_counted_until_somebody_saw_the_newest() -> None:
    many = fold(raw(number, f"session {number}") for number in range(1, TAILS + 5))
    seen = fold([event(100, base=many.base())], many)

    assert len(many.tails()) == TAILS
    assert many.older_tails() == 4
    assert seen.tails() == ()
    assert seen.older_tails() == 0


# ---------------------------------------------------------------- pi-carryover 1.x


def test_an_import_without_a_base_replaces_the_note_as_it_replaced_the_file() -> None:
    imported = Event({"v": 1, "id": name(3), "op": "note", "source": "import", "text": "- [ ] theirs"})

    state = fold([event(1), raw(2, "a"), imported])

    assert open_items(state) == {"theirs"}
    assert len(state.tails()) == 1


def test_an_origin_that_is_no_id_is_no_ancestor() -> None:
    state = fold(
        [event(1, origin="pi-carryover"), event(2, base=[1], origin="--> <script>"), event(3, origin=name(77))]
    )

    assert state.lineage[""] == (name(1), name(2), name(77), name(3))


# ---------------------------------------------------------------- an algebra

sessions = st.sampled_from(["", "a", "b", "c"])
trees = st.sampled_from(["", "", "", "feature"])


@st.composite
def histories(draw: st.DrawFn, start: int = 1, known: tuple[int, ...] = (), tag: str = "") -> list[Event]:
    """Events of which each was made from some that came before it: notes, tails, clears, restores, in any session."""
    events: list[Event] = []
    numbers = list(known)
    for number in range(start, start + draw(st.integers(0, 8))):
        op = draw(st.sampled_from(["note", "note", "note", "raw", "clear", "set"]))
        base = draw(st.lists(st.sampled_from(numbers), max_size=3, unique=True)) if numbers else []
        texts = [one.text for one in events if one.id in {name(one) for one in base}]
        text = "\n".join([*texts, f"- [ ] {tag}{number}"])
        fields: dict[str, Any] = {"base": base, "session": draw(sessions), "tree": draw(trees)}
        if op == "raw":
            events.append(raw(number, fields["session"], tree=fields["tree"], through=number))
        elif op == "note":
            events.append(event(number, text=text, source=draw(st.sampled_from(SOURCES)), **fields))
        else:
            events.append(event(number, op, **fields))
        numbers.append(number)
    return events


@given(events=histories(), cuts=st.lists(st.integers(0, 8), max_size=4))
def test_folding_bit_by_bit_is_folding_at_once(events: list[Event], cuts: list[int]) -> None:
    bounds = [0, *sorted(cuts), len(events)]
    state = State()

    for start, end in pairwise(bounds):
        try:
            state = fold(events[start:end], state)
        except OutOfOrder:
            state = fold(events[:end])

    assert state == fold(events)


@given(events=histories(), data=st.data())
def test_neither_order_nor_repetition_changes_the_state(events: list[Event], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(events * 2))

    assert fold(shuffled) == fold(events)


@given(events=histories())
def test_what_is_older_than_the_state_is_not_folded_into_it(events: list[Event]) -> None:
    state = fold(events)

    for late in events:
        with pytest.raises(OutOfOrder):
            fold([late], state)


@given(events=histories())
def test_a_state_survives_as_plain_data(events: list[Event]) -> None:
    state = fold(events)

    assert load(json.loads(json.dumps(dump(state)))) == state


@settings(deadline=None)
@given(shared=histories(start=1), data=st.data())
def test_two_logs_joined_in_either_order_are_the_same_and_lose_nothing(
    shared: list[Event], data: st.DataObject
) -> None:
    known = tuple(range(1, len(shared) + 1))
    ours = [_renumbered(one, 100, 2) for one in data.draw(histories(100, known, "ours "))]
    theirs = [_renumbered(one, 100, 3) for one in data.draw(histories(100, known, "theirs "))]

    one_way = fold([*shared, *ours, *theirs])
    other_way = fold([*theirs, *shared, *ours, *shared])

    assert one_way == other_way
    unique = {one.id: one for one in (*shared, *ours, *theirs)}
    assert one_way.events == len(unique)
    for tree in one_way.trees():
        standing = {head.id for head in one_way.heads.get(tree, ())}
        expected = {
            item.text
            for one in unique.values()
            if one.id in standing
            for item in items(one.text if one.op == "note" else "")
        }
        gone = expected - open_items(one_way, tree)
        assert all(_was_seen_by_all(gone_item, one_way, tree, unique) for gone_item in gone)


def _renumbered(one: Event, start: int, side: int) -> Event:
    """Give the events of one side numbers of its own, between those of the other side."""

    def moved(identifier: str) -> str:
        number = int(identifier[4:])
        return name(number * 10 + side) if number >= start else identifier

    fields = {**one.fields, "id": moved(one.id), "base": [moved(parent) for parent in one.base]}
    return Event(fields, json.dumps(fields).encode())


def _was_seen_by_all(item: str, state: State, tree: str, events: dict[str, Event]) -> bool:
    """Whether *item* stood in the text that all the notes were made from, so that somebody took it out on purpose."""
    return item in {one.text for one in items(state.forks.get(tree, ""))}


def test_the_latest_of_restore_and_clear_wins_in_joined_logs() -> None:
    shared = [event(1, text="- [ ] first"), event(2, base=[1], text="- [ ] second")]
    clear = event(3, "clear", base=[2])
    restore = event(4, base=[3], source="restore", text="- [ ] first")
    theirs = event(5, base=[2], text="- [ ] second\n- [ ] theirs")
    joined = event(6, base=[4, 5], source="import", text="- [ ] first\n- [ ] theirs")

    mine = fold([*shared, clear, restore])
    union = fold([theirs, restore, clear, *shared])
    later = fold([*shared, clear, restore, theirs, joined])

    assert open_items(mine) == {"first"}
    assert open_items(union) == {"first", "theirs"}
    assert open_items(later) == {"first", "theirs"}
    assert len(later.heads[""]) == 1


# ---------------------------------------------------------------- bounds


def test_the_state_of_ten_thousand_events_is_as_small_as_that_of_a_hundred() -> None:
    def state(count: int) -> State:
        events = []
        for number in range(1, count + 1):
            if number % 3:
                events.append(event(number, base=[number - 1, number - 2], session=f"s{number}", through=number))
            else:
                events.append(raw(number, f"s{number}", through=number))
        return fold(events)

    small, large = len(json.dumps(dump(state(200)))), len(json.dumps(dump(state(10_000))))

    assert large < small * 1.2
    assert len(state(10_000).lineage[""]) == LINEAGE
    assert len(state(10_000).saved) == SESSIONS


def test_notes_that_nobody_joins_are_bounded_and_counted() -> None:
    state = fold(event(number) for number in range(1, 2_001))

    assert len(state.heads[""]) == HEADS
    assert state.older_tails() == 2_000 - HEADS
    assert open_items(state) == {f"item {number}" for number in range(2_001 - HEADS, 2_001)}


def test_how_far_a_session_was_saved_is_known_of_the_latest_sessions() -> None:
    state = fold(raw(number, f"s{number % 70}", through=number) for number in range(1, 201))

    assert state.saved["s60"] == 200
    assert list(state.saved.values()) == list(range(201 - SESSIONS, 201))
