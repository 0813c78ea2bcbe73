"""Sessions whose end nobody saw, and the summaries that are owed to them."""

from __future__ import annotations

import os
import threading
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from carryover.session.lifecycle import Mode
from tests.session.play import Place, Played, living, notices

FIRST = "the first session renames the columns"
SECOND = "the second session splits the module"
THIRD = "the third session is still at work"
GOOD = "- [ ] rename the columns"


def killed(place: Place, **words: str) -> list[Played]:
    """Sessions in which this was said, and whose host then died."""
    with living() as host:
        sessions = [place.session(name, owner=host.pid).start() for name in words]
        for session in sessions:
            session.turn(words[session.name])
    return sessions


def test_two_killed_sessions_are_recovered_once_each_and_a_living_one_is_left_alone(place: Place) -> None:
    with living() as host:
        place.session("three", owner=host.pid).start().turn(THIRD)
        killed(place, one=FIRST, two=SECOND)

        first = place.session("four").start()
        block = first.host.prompt("go on").system
        stored = place.stored
        second = place.session("five").start()

        assert notices(first.outcome) == ["Recovered what was left by sessions that ended without saving: 2."]
        assert notices(second.outcome) == []
        assert place.stored == stored
        assert sorted((event["session"], event["source"]) for event in place.events) == [("one", "raw"), ("two", "raw")]
        assert FIRST in block
        assert SECOND in block
        assert THIRD not in block
        assert "three" in place.checkpoints


def change_owner(place: Place, **values: Any) -> None:
    checkpoints = place.memory().store.checkpoints()
    (one,) = checkpoints.all()
    assert one.owner is not None
    checkpoints.keep(replace(one, owner=replace(one.owner, **values)))


def test_a_session_of_another_machine_is_left_alone(place: Place) -> None:
    killed(place, one=FIRST)
    change_owner(place, machine="elsewhere")

    place.next_block()

    assert place.events == []
    assert place.checkpoints == ["one"]


def test_a_process_that_was_given_a_dead_hosts_number_is_not_taken_for_it(place: Place) -> None:
    with living() as other:
        session = place.session("one", owner=other.pid).start()
        session.turn(FIRST)
        change_owner(place, started="earlier")

        assert FIRST in place.next_block()


def test_two_starters_at_once_recover_a_session_once(place: Place) -> None:
    killed(place, a=FIRST, b=SECOND, c=THIRD)
    starters = [place.session(f"new-{number}") for number in range(4)]
    together = threading.Barrier(len(starters))

    def start(session: Played) -> None:
        together.wait()
        session.start()

    threads = [threading.Thread(target=start, args=(session,)) for session in starters]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    told = [notice for session in starters for notice in notices(session.outcome)]
    assert sorted(event["session"] for event in place.events) == ["a", "b", "c"]
    assert told == ["Recovered what was left by sessions that ended without saving: 3."]


def test_what_was_said_after_the_last_settled_turn_is_recovered_and_counted_too(place: Place) -> None:
    session = place.session("one").start()
    session.turn("long ago")
    session.end()
    session.answer(GOOD)
    with living() as host:
        session = session.again(owner=host.pid)
        session.turn(FIRST)
        session.ask("and in the middle of this one it died")

    place.next_block()

    assert "- and in the middle of this one it died" in place.tails[0]
    assert place.events[-1]["covers"] == [3, 5]


def test_a_note_that_the_agent_saved_last_stands_after_a_crash(place: Place) -> None:
    with living() as host:
        session = place.session("one", owner=host.pid).start()
        session.ask("save it")
        session.save(GOOD)
        session.settle("Saved.")

    following = place.session("two").start()

    assert place.sources == ["agent"]
    assert notices(following.outcome) == []
    assert place.checkpoints == []


def test_a_killed_session_that_is_resumed_goes_on_where_it_stood(place: Place) -> None:
    (session,) = killed(place, one=FIRST)

    again = session.again(owner=os.getpid())
    again.turn("go on")
    again.end()

    assert place.tails == [f"- {FIRST}\n- go on\n\nLast answer:\n\nI see."]
    assert place.events[0]["covers"] == [3, 4]


def test_a_killed_session_that_is_resumed_without_a_word_is_saved_at_its_end(place: Place) -> None:
    (session,) = killed(place, one=FIRST)

    again = session.again(owner=os.getpid())
    place.next_block()
    meanwhile = place.sources
    again.end()

    assert meanwhile == []
    assert place.sources == ["raw"]


def test_a_recovered_session_that_is_resumed_without_a_word_leaves_its_summary_to_the_next(place: Place) -> None:
    (session,) = killed(place, one=FIRST)
    place.next_block()
    before = place.stored

    outcome = session.again(owner=os.getpid()).end()
    following = place.session("two").start()
    following.turn("go on")

    assert place.stored == before
    assert (outcome.ask, outcome.farewell) == (None, "")
    assert FIRST in following.asked.prompt


@pytest.mark.parametrize("mode", ["print", "json"])
def test_a_one_shot_recovers_and_asks_nothing(place: Place, mode: Mode) -> None:
    killed(place, one=FIRST)

    session = place.session("two", mode=mode).start()
    delivery = session.turn("what is 2+2")
    asked = session.outcome.ask
    outcome = session.end()

    assert FIRST in delivery.system
    assert (asked, outcome.ask) == (None, None)
    assert place.sources == ["raw"]
    assert place.checkpoints == ["one"]


def test_a_sub_agent_leaves_dead_sessions_to_others(place: Place) -> None:
    killed(place, one=FIRST)

    place.session("two", nested=True).start().turn("what is 2+2")

    assert place.events == []


# ---------------------------------------------------------------- the summary that is owed


def test_an_owed_summary_is_asked_for_after_the_first_settled_turn_and_once(place: Place) -> None:
    killed(place, one=FIRST)

    session = place.session("two").start()
    at_start = session.outcome.ask
    session.turn("go on")
    asked = session.asked
    session.turn("and on")
    second = session.outcome.ask
    third = place.session("three").start()
    third.turn("hello")

    assert at_start is None
    assert FIRST in asked.prompt
    assert (second, third.outcome.ask) == (None, None)


def test_the_summary_of_a_dead_session_takes_its_tails_place(place: Place) -> None:
    killed(place, one=FIRST)
    session = place.session("two").start()
    session.turn("go on")

    session.answer(GOOD)

    assert place.note == GOOD
    assert place.tails == []
    assert place.events[-1]["session"] == "one"
    assert place.checkpoints == ["two"]


def test_a_turn_writes_no_checkpoint_that_says_the_same_and_the_counts_are_right_all_the_same(place: Place) -> None:
    with living() as other:
        session = place.session("one", owner=other.pid).start()
        session.turn(FIRST)
        (path,) = (place.project / ".pi" / "carryover.sessions").iterdir()
        first = path.stat().st_ino
        for _ in range(3):
            session.turn(SECOND)
        assert path.stat().st_ino == first

    place.next_block()

    assert place.events[-1]["covers"] == [5, 8]


def test_no_summary_is_owed_of_what_was_cleared(place: Place) -> None:
    killed(place, one=FIRST)
    place.next_block()
    place.memory().clear()

    session = place.session("two").start()
    session.turn("go on")

    assert session.outcome.ask is None
    assert place.checkpoints == ["two"]


def test_the_user_is_told_whose_summary_came_and_why_one_did_not(place: Place) -> None:
    killed(place, one=FIRST, two=SECOND)
    session = place.session("three").start()
    session.turn("go on")

    good = session.answer(GOOD)
    session.turn("and on")
    bad = session.answer(stop="error", error="HTTP 500 from\nthe provider")

    assert notices(good) == ["An earlier session that ended without saving is summed up now; the note has it."]
    assert "(HTTP 500 from the provider)" in notices(bad)[0]


def test_two_summaries_that_are_owed_are_asked_for_one_after_the_other(place: Place) -> None:
    killed(place, one=FIRST, two=SECOND)

    session = place.session("three").start()
    session.turn("go on")
    first = session.asked.prompt
    session.answer(stop="timeout")
    session.turn("and on")
    second = session.asked.prompt

    assert (FIRST in first, SECOND in first) != (FIRST in second, SECOND in second)
    assert len(place.tails) == 2


def test_two_sessions_ask_for_an_owed_summary_once_between_them(place: Place) -> None:
    killed(place, one=FIRST)
    two, three = place.session("two").start(), place.session("three").start()

    two.turn("go on")
    three.turn("go on")

    assert [session.outcome.ask is not None for session in (two, three)] == [True, False]


def test_a_summary_is_not_asked_for_while_its_session_goes_on_again(place: Place) -> None:
    (session,) = killed(place, one=FIRST)
    other = place.session("two").start()
    again = session.again(owner=os.getpid())
    again.turn("I am back")

    other.turn("go on")

    assert other.outcome.ask is None
    assert "one" in place.checkpoints


def test_where_summaries_are_off_nothing_is_owed(place: Place) -> None:
    place.set(summary={"mode": "off"})
    killed(place, one=FIRST)

    session = place.session("two").start()
    session.turn("go on")

    assert session.outcome.ask is None
    assert place.checkpoints == ["two"]
    assert FIRST in place.tails[0]


# ---------------------------------------------------------------- what cannot be recovered


def test_a_session_whose_file_is_gone_is_told_once(place: Place) -> None:
    (session,) = killed(place, one=FIRST)
    session.file.unlink()

    first = place.session("two").start()
    told = notices(first.outcome)
    block = first.host.prompt("go on").system
    later = first.host.compacted()
    second = place.session("three").start()

    assert told == [f"Cannot read the session {session.file}: there is no such file."]
    assert 'Could not be read: "Cannot read the session' in block
    assert "Could not be read" not in later
    assert notices(second.outcome) == []
    assert place.checkpoints == []


def test_one_that_cannot_be_recovered_keeps_no_other_from_it(place: Place) -> None:
    gone, spoilt, _ = killed(place, a=FIRST, b=SECOND, c=THIRD)
    gone.file.unlink()
    spoilt.file.write_text("no session at all\n")

    session = place.session("two").start()

    assert len(notices(session.outcome)) == 3
    assert THIRD in place.tails[0]
    assert place.checkpoints == ["c"]


def test_a_session_that_cannot_be_read_today_is_tried_again(place: Place, tmp_path: Path) -> None:
    (session,) = killed(place, one=FIRST)
    session.file.rename(tmp_path / "kept")
    session.file.mkdir()

    told = notices(place.session("two").start().outcome)
    session.file.rmdir()
    (tmp_path / "kept").rename(session.file)
    block = place.next_block()

    assert ["not a regular file" in notice for notice in told] == [True]
    assert FIRST in block


def test_conflict_markers_in_the_view_keep_no_session_from_being_recovered(place: Place) -> None:
    killed(place, one=FIRST)
    place.view.write_text("<<<<<<< ours\na\n=======\nb\n>>>>>>> theirs\n", "utf-8")

    assert FIRST in place.next_block()


def test_a_checkpoint_of_nonsense_is_passed_over(place: Place) -> None:
    killed(place, one=FIRST)
    folder = place.project / ".pi" / "carryover.sessions"
    (folder / "two.json").write_text("{")
    (folder / "three.json").write_text('{"session": "three", "owner": null}')

    assert FIRST in place.next_block()
