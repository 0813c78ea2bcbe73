"""The three tiers: what is kept of a session, whichever way it ends."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from carryover.completion import Answer
from carryover.errors import SecretFound
from tests.session.play import Place, Played, notices

NOTE = "- [ ] move the parser to the new grammar\n- [ ] ask Mei about the licence"
GOOD = f"{NOTE}\n- [ ] the lexer drops the last newline"
WORDS = "the lexer drops the last newline of a heredoc"
TOKEN = "ghp_" + "a1B2" * 10


@pytest.fixture
def session(place: Place) -> Played:
    return place.session("one").start()


def with_note(place: Place) -> None:
    place.memory().save(NOTE)


# ---------------------------------------------------------------- tier 1: the agent's own note


def test_the_agents_note_stands_when_nothing_came_after_it(place: Place, session: Played) -> None:
    session.ask("save it")
    session.save(NOTE)
    session.settle("Saved.")
    before = place.stored

    outcome = session.end()

    assert place.stored == before
    assert outcome.ask is None
    assert outcome.farewell == ""
    assert place.checkpoints == []


def test_reading_after_the_save_leaves_the_note_standing(place: Place, session: Played) -> None:
    session.ask("save it")
    session.save(NOTE)
    session.tool("read", path="a.py")
    session.settle("Saved.")

    session.end()

    assert place.sources == ["agent"]


@pytest.mark.parametrize("after", ["user", "edit", "bash"])
def test_the_agents_note_does_not_stand_when_something_came_after_it(place: Place, session: Played, after: str) -> None:
    session.ask("save it")
    session.save(NOTE)
    if after != "user":
        session.tool(after, path="a.py", command="make")
    session.settle("Saved.")
    if after == "user":
        session.turn(WORDS)

    session.end()

    assert place.sources == ["agent", "raw"]
    assert place.note == NOTE


def test_a_save_that_was_refused_is_no_save(place: Place, session: Played) -> None:
    session.ask(WORDS)
    session.written.tool("save_carryover", failed=True, content="")
    session.settle("It was refused.")

    session.end()

    assert place.sources == ["raw"]


# ---------------------------------------------------------------- tier 3: the raw tail


def test_the_tail_is_on_disk_before_a_model_is_asked(place: Place, session: Played) -> None:
    with_note(place)
    session.turn(WORDS)

    outcome = session.end()

    assert outcome.ask is not None
    assert place.sources == ["agent", "raw"]
    assert WORDS in place.log.read_text("utf-8")
    assert NOTE in place.next_block().replace("> ", "")
    assert f"> - {WORDS}" in place.next_block()


def test_the_tail_says_what_it_covers_and_that_it_is_clues_only(place: Place, session: Played) -> None:
    for number in range(12):
        session.turn(f"question {number}", f"answer {number}")

    outcome = session.end()

    assert place.events[0]["covers"] == [9, 24]
    assert outcome.farewell == "Kept the last 9 of 24 messages beside the note, as clues only."
    assert "the last 9 of 24 messages" in place.view.read_text("utf-8")
    assert "covers the last 9 of 24 messages, clues only" in place.next_block()
    assert place.tails == [
        "\n".join([*(f"- question {at}" for at in range(4, 12)), "", "Last answer:", "", "answer 11"])
    ]


def test_the_tail_names_the_files_that_were_changed_and_the_last_failure(place: Place, session: Played) -> None:
    session.ask(WORDS)
    session.tool("edit", path="lexer.py")
    session.written.tool("bash", failed=True, command="make")
    session.settle("It still fails.")

    session.end()

    assert "Files changed: lexer.py" in place.tails[0]
    assert "Last error: bash: bash said something" in place.tails[0]


def test_a_session_whose_agent_worked_alone_for_long_is_kept(place: Place, session: Played) -> None:
    session.ask(WORDS)
    for number in range(60):
        session.written.agent(f"step {number}")
        session.tool("edit", path="a.py")
    session.settle("Step 60 is done.")

    outcome = session.end()

    assert outcome.ask is not None
    assert f"- {WORDS}" in place.tails[0]
    assert "Step 60 is done." in place.tails[0]
    assert place.events[0]["covers"] == [2, 62]


def test_a_session_that_was_compacted_in_the_middle_of_a_run_is_kept(place: Place, session: Played) -> None:
    session.ask(WORDS)
    session.written.agent("I begin.")
    kept = session.written.agent("And go on.")
    session.written.add("compaction", summary="The lexer is to be mended.", firstKeptEntryId=kept, tokensBefore=1)
    session.settle("And go on.")

    session.end()

    assert "The lexer is to be mended." in place.tails[0]
    assert "And go on." in place.tails[0]


def test_a_session_is_saved_once_however_often_its_end_is_told(place: Place, session: Played) -> None:
    session.turn(WORDS)

    session.end()
    second = session.end()
    session.host.lost()

    assert place.sources == ["raw"]
    assert (second.ask, second.notices, second.farewell) == (None, (), "")


def test_the_tail_of_a_resumed_session_still_holds_what_its_older_tail_held(place: Place, session: Played) -> None:
    session.turn(WORDS)
    session.end()
    session.answer(stop="timeout")

    again = session.again()
    again.turn("one more thing")
    again.end()

    assert len(place.tails) == 1
    assert place.tails[0].startswith(f"- {WORDS}\n- one more thing")


def test_where_the_older_tail_went_into_the_note_the_next_one_begins_after_it(place: Place, session: Played) -> None:
    session.turn(WORDS)
    session.end()
    session.answer(GOOD)

    again = session.again()
    again.turn("one more thing")
    again.end()

    assert place.tails == ["- one more thing\n\nLast answer:\n\nI see."]
    assert place.events[-1]["covers"] == [2, 4]


def test_the_users_last_words_are_kept_when_it_ends_in_the_middle_of_a_turn(place: Place, session: Played) -> None:
    session.ask(WORDS)

    session.end()

    assert place.tails == [f"- {WORDS}"]


def test_a_disk_that_fails_for_a_while_costs_nothing_and_is_said_each_time_it_begins_to(
    place: Place, session: Played
) -> None:
    blocked = place.project / ".pi"
    said = []
    for words in ("one", "two", "three"):
        blocked.write_text("in the way")
        session.turn(f"{words}, while the disk fails")
        said.append(len(notices(session.outcome)))
        session.turn(f"{words}, while it still fails")
        said.append(len(notices(session.outcome)))
        blocked.unlink()
        session.turn(f"{words}, while it works")
        said.append(len(notices(session.outcome)))
        shutil.rmtree(blocked)

    session.end()

    assert said == [1, 0, 0] * 3
    assert place.events[0]["covers"] == [9, 18]


# ---------------------------------------------------------------- tier 2: the summary


def test_a_good_summary_takes_the_tails_place_in_view_and_block_but_not_in_the_log(
    place: Place, session: Played
) -> None:
    with_note(place)
    session.turn(WORDS)
    session.end()

    outcome = session.answer(GOOD)

    assert notices(outcome) == ["Session summed up. The next one will be given the summary."]
    assert place.note == GOOD
    assert "Not yet in the note" not in place.view.read_text("utf-8")
    assert WORDS not in place.next_block()
    assert place.sources == ["agent", "raw", "summary"]
    assert place.checkpoints == []


FAULTS = {
    "empty": ({"text": ""}, "the model's answer was empty"),
    "refusal": ({"text": "I'm sorry, but I can't help with that."}, "the model refused"),
    "cut": ({"text": GOOD, "stop": "length"}, "the model's answer was cut off"),
    "long": ({"text": f"{NOTE}\n" + "the lexer and its newline " * 100}, "the model's answer was too long"),
    "language": (
        {"text": "- [ ] 把语法分析器迁移到新的语法，并询问小梅关于许可证的问题，然后修复词法分析器。"},
        "the model answered in another language",
    ),
    "error": ({"text": "", "stop": "error", "error": "HTTP 500"}, "the model could not be asked"),
    "timeout": ({"text": "", "stop": "timeout"}, "the model did not answer in time"),
    "dropped": ({"text": "- [ ] mend the lexer's newline"}, "the model's answer left out open items of the note"),
    "aborted": ({"text": "", "stop": "aborted"}, "Summary skipped."),
}
KEPT = "The note is unchanged; the last messages stand beside it."


@pytest.mark.parametrize("fault", FAULTS)
def test_a_summary_that_is_no_good_changes_nothing_and_one_line_says_why(
    place: Place, session: Played, fault: str
) -> None:
    given, reason = FAULTS[fault]
    with_note(place)
    session.turn(WORDS)
    session.end()
    before = place.stored

    outcome = session.answer(**given)

    told = notices(outcome)
    assert place.stored == before
    assert place.note == NOTE
    assert WORDS in place.tails[0]
    assert len(told) == 1
    assert reason in told[0]
    assert told[0].endswith(KEPT)


@pytest.mark.parametrize("fault", FAULTS)
def test_a_summary_that_failed_is_not_tried_again(place: Place, session: Played, fault: str) -> None:
    session.turn(WORDS)
    session.end()
    ask = session.asked.id
    session.answer(**FAULTS[fault][0])

    later = place.session("two").start()
    later.turn("something else")
    resumed = session.again()
    ended = resumed.end()

    assert later.outcome.ask is None
    assert (resumed.outcome.ask, ended.ask) == (None, None)
    assert session.host.answer(ask, Answer(GOOD)).notices == ()


def test_the_line_is_in_the_users_language(place: Place, session: Played) -> None:
    session.turn("请修复词法分析器丢掉最后一个换行符的问题")
    session.end()

    outcome = session.answer(stop="timeout")

    assert notices(outcome) == ["没有生成摘要：模型没有及时回答。笔记未变，最近的消息已附在旁边。"]


def test_the_request_holds_note_and_conversation_and_is_bounded(place: Place, session: Played) -> None:
    with_note(place)
    session.turn("x" * 200_000, "y" * 200_000)

    ask = session.end().ask

    assert ask is not None
    assert "move the parser" in ask.prompt
    assert len(ask.prompt) + len(ask.system) <= 24_000
    assert ask.seconds == 30
    assert "30 s at most" in ask.line


def test_a_summary_takes_no_other_sessions_tail_out_of_the_view(place: Place, session: Played) -> None:
    other = place.session("two").start()
    other.turn("the other session's words")
    other.end()
    session.turn(WORDS)
    session.end()

    session.answer(GOOD)

    assert len(place.tails) == 1
    assert "the other session's words" in place.tails[0]


def test_what_was_saved_while_the_model_was_thinking_stands_beside_its_summary(place: Place, session: Played) -> None:
    with_note(place)
    session.turn(WORDS)
    session.end()
    place.memory().save(f"{NOTE}\n- [ ] rotate the keys")

    session.answer(GOOD)

    assert set(place.note.splitlines()) == {*GOOD.splitlines(), "- [ ] rotate the keys"}


def test_summaries_can_be_off(place: Place) -> None:
    place.set(summary={"mode": "off"})
    session = place.session("one").start()
    session.turn(WORDS)

    outcome = session.end()

    assert outcome.ask is None
    assert outcome.farewell.startswith("Kept the last 2 of 2 messages")
    assert place.checkpoints == []


# ---------------------------------------------------------------- the ways to leave a session


@pytest.mark.parametrize("reason", ["new", "resume", "fork", "weird"])
def test_a_session_that_is_left_for_another_one_is_saved_and_summed_up_by_it(place: Place, reason: str) -> None:
    host = place.host()
    session = place.session("one", host).start()
    session.turn(WORDS)

    left = session.end(reason)
    following = place.session("two", host).start(reason)
    delivery = following.turn("next")

    assert left.ask is None
    assert left.farewell.startswith("Kept the last 2 of 2 messages")
    assert place.sources == ["raw"]
    assert WORDS in delivery.system
    assert following.asked.line == "Summing up a session that ended without saving ..."


def test_a_reload_is_no_end_and_loses_nothing(place: Place, session: Played) -> None:
    session.turn(WORDS)

    outcome = session.end("reload")
    saved_by_then = place.sources
    again = session.again(session.host, "reload")
    again.turn("after it")
    again.end()

    assert (outcome.ask, outcome.notices, outcome.farewell) == (None, (), "")
    assert saved_by_then == []
    assert place.tails[0].startswith(f"- {WORDS}\n- after it")
    assert place.events[0]["covers"] == [3, 4]


def test_what_was_said_before_a_reload_is_saved_when_nothing_is_said_after_it(place: Place, session: Played) -> None:
    session.turn(WORDS)
    session.end("reload")

    session.again(session.host, "reload").end()

    assert place.tails == [f"- {WORDS}\n\nLast answer:\n\nI see."]
    assert place.checkpoints == []


def test_a_child_that_is_started_again_in_mid_session_loses_nothing(place: Place, session: Played) -> None:
    session.turn(WORDS)
    told_first = session.about

    restarted = Played(place, place.host(), "one")
    restarted.written = session.written
    restarted.host.start(told_first, "startup")
    restarted.turn("after it")
    restarted.end()

    assert place.tails[0].startswith(f"- {WORDS}\n- after it")
    assert place.events[0]["covers"] == [3, 4]


def test_a_start_that_is_told_late_loses_nothing(place: Place) -> None:
    session = place.session("one")
    session.written.user(WORDS)
    session.write()
    session.host.start(session.about, "startup")
    session.settle()

    session.end()

    assert place.tails[0].startswith(f"- {WORDS}")


def test_a_resumed_session_in_which_nothing_was_said_saves_nothing(place: Place, session: Played) -> None:
    session.turn(WORDS)
    session.end()
    session.answer(stop="aborted")
    before = place.stored

    again = session.again()
    again.host.settled(again.file)
    outcome = again.end()

    assert place.stored == before
    assert (outcome.ask, outcome.notices, outcome.farewell) == (None, (), "")


def test_a_resumed_session_keeps_what_is_new_and_counts_all_of_it(place: Place, session: Played) -> None:
    for number in range(3):
        session.ask(f"old {number}")
    session.save(NOTE)
    session.settle("Saved.")
    session.end()

    again = session.again()
    again.turn("new")
    again.end()

    assert place.tails == ["- new\n\nLast answer:\n\nI see."]
    # Three questions, the call, its answer, and two new ones.
    assert place.events[-1]["covers"] == [2, 7]


def test_a_fork_that_copied_its_history_keeps_what_is_new_and_counts_all_of_it(place: Place, session: Played) -> None:
    session.turn(WORDS)
    session.turn("the second")
    fork = session.fork("two")

    nothing_yet = place.sources
    fork.turn("in the fork")
    fork.end()

    tail = next(event for event in place.events if event["session"] == "two")
    assert nothing_yet == ["raw"]
    assert tail["text"].startswith("- in the fork\n")
    assert tail["covers"] == [2, 6]


def test_a_fork_in_which_nothing_was_said_saves_nothing(place: Place, session: Played) -> None:
    session.turn(WORDS)
    fork = session.fork("two")

    fork.end()

    assert [event["session"] for event in place.events] == ["one"]


# ---------------------------------------------------------------- memory does not eat its own echo


@pytest.mark.parametrize("quoted_by", ["user", "assistant", "custom"])
def test_ten_rounds_of_block_transcript_and_tail_store_the_block_nowhere(place: Place, quoted_by: str) -> None:
    with_note(place)
    sizes = []
    for number in range(10):
        session = place.session(f"s{number}").start()
        block = session.host.prompt("go on").system
        if quoted_by == "custom":
            session.written.add("custom_message", customType="carryover", content=block, display=False)
        quote = block if quoted_by == "user" else ""
        session.written.user(f"go on {quote}")
        session.settle(f"So: {block}" if quoted_by == "assistant" else "So it is.")
        session.end()
        sizes.append(sum(len(event["text"]) for event in place.events[1:]) // (number + 1))

    assert len(set(sizes)) == 1
    assert all("<carryover" not in event["text"] and NOTE not in event["text"] for event in place.events[1:])


# ---------------------------------------------------------------- secrets


def everything_stored(place: Place) -> bytes:
    """All bytes below .pi, the cache and the state folder."""
    folders = [place.project, Path(os.environ["XDG_CACHE_HOME"]), Path(os.environ["XDG_STATE_HOME"])]
    return b"".join(path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file())


def use_a_secret_everywhere(place: Place) -> Played:
    """In the tool's note, in the conversation, at the edge of what a tail keeps, in a summary, in an edited view."""
    session = place.session("one").start()
    session.ask(f"use the token {TOKEN}")
    session.written.user("x " * 190 + f"token: {TOKEN}")
    session.written.tool("bash", failed=True, command=f"curl -H {TOKEN}")
    session.settle("y" * 1480 + f" {TOKEN}")
    session.end()
    session.answer(f"- [ ] call it with {TOKEN}")
    text = place.view.read_text("utf-8") if place.view.exists() else ""
    place.view.write_text(f"- [ ] the edit has {TOKEN}\n{text}", "utf-8")
    other = place.session("two").start()
    other.turn("go on")
    other.end()
    place.next_block()
    return other


def test_a_secret_reaches_no_file_by_any_way(place: Place) -> None:
    session = place.session("zero").start()
    session.ask("save it")

    told = session.save(f"- [ ] call it with {TOKEN}")
    use_a_secret_everywhere(place)

    assert "A secret in it was left out." in told
    assert TOKEN[:20].encode() not in everything_stored(place)
    assert place.sources.count("raw") == 2
    assert "edit" in place.sources


def test_a_secret_is_sent_to_no_model(place: Place) -> None:
    session = place.session("one").start()
    session.turn(f"use the token {TOKEN}", "z " * 980 + TOKEN)

    ask = session.end().ask

    assert ask is not None
    assert "ghp_" not in ask.prompt


def test_where_secrets_are_rejected_a_note_with_one_is_refused_and_leaves_nothing(place: Place) -> None:
    place.set(secrets="reject")
    session = place.session("one").start()
    session.ask("save it")

    with pytest.raises(SecretFound, match=r"not saved: the text holds a secret \(github-token\)"):
        session.save(f"- [ ] call it with {TOKEN}")

    assert place.stored == {}
    assert TOKEN.encode() not in everything_stored(place)


def test_where_secrets_are_rejected_a_tail_leaves_out_the_message_and_says_so(place: Place) -> None:
    place.set(secrets="reject")
    session = place.session("one").start()
    session.turn(f"use the token {TOKEN}")
    session.turn(WORDS)

    session.end()

    assert place.tails[0].startswith(f"- [left out: it holds a secret (github-token)]\n- {WORDS}")
    assert TOKEN[:20].encode() not in everything_stored(place)


def test_where_secrets_are_rejected_a_summary_with_one_is_refused_and_that_is_said(place: Place) -> None:
    place.set(secrets="reject")
    session = place.session("one").start()
    session.turn(WORDS)
    session.end()

    outcome = session.answer(f"- [ ] call it with {TOKEN}")

    assert notices(outcome) == [
        "cannot save: the text holds a secret (github-token), and the setting `secrets` is `reject`"
    ]
    assert WORDS in place.tails[0]
    assert TOKEN.encode() not in everything_stored(place)


def test_where_secrets_are_rejected_an_edit_with_one_stops_no_save_and_is_told(place: Place) -> None:
    place.set(secrets="reject")
    with_note(place)
    edited = f"- [ ] the edit has {TOKEN}\n{place.view.read_text('utf-8')}"
    place.view.write_text(edited, "utf-8")
    session = place.session("one").start()

    session.ask("save it")
    told = session.save("- [ ] the agent's")
    session.settle("Saved.")

    assert "It is in the log, but" in told
    assert "holds a secret (github-token)" in told
    assert ["holds a secret (github-token)" in notice for notice in notices(session.outcome)] == [True]
    assert place.view.read_text("utf-8") == edited
    assert TOKEN not in place.log.read_text("utf-8")
