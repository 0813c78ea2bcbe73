from __future__ import annotations

import io
import json
import os
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from carryover.errors import TranscriptMalformed, TranscriptMissing, TranscriptUnreadable
from carryover.session.transcripts.base import Count, Message
from carryover.session.transcripts.pi import count, tail
from tests.session.pi_session import SECOND, Session, text


@pytest.fixture
def session() -> Session:
    return Session()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "session.jsonl"


def words(path: Path, **limits: int) -> list[str]:
    return [message.text for message in tail(path, **limits).messages]


def conversation(turns: int) -> Session:
    session = Session()
    for turn in range(turns):
        session.user(f"question {turn}")
        session.agent(f"answer {turn}")
    return session


# ---------------------------------------------------------------- what is told


def test_both_sides_are_told_oldest_first(session: Session, path: Path) -> None:
    session.add("model_change", provider="p", modelId="m")
    session.user("Fix the parser")
    session.agent("Looking at it", ("c1", "read", {"path": "a.py"}))
    session.result("c1")
    session.agent("It is fixed")
    session.write(path)

    found = tail(path)

    assert found.messages == (
        Message("user", "Fix the parser", SECOND.format(2)),
        Message("assistant", "Looking at it", SECOND.format(3)),
        Message("assistant", "It is fixed", SECOND.format(5)),
    )
    assert (found.count, found.complete, found.damaged, found.end) == (3, True, 0, path.stat().st_size)


def test_only_the_active_branch_is_told(session: Session, path: Path) -> None:
    root = session.user("the beginning")
    session.agent("an answer that was left")
    session.user("a way not taken")
    session.leaf = root
    session.agent("another answer")
    session.user("the way taken")
    session.write(path)

    assert words(path) == ["the beginning", "another answer", "the way taken"]


def test_a_second_root_starts_another_conversation(session: Session, path: Path) -> None:
    session.user("before")
    session.leaf = None
    session.user("after")
    session.write(path)

    assert words(path) == ["after"]


def test_damage_before_the_root_brings_no_other_conversation_in(session: Session, path: Path) -> None:
    session.user("before")
    session.user("damaged")
    session.leaf = None
    session.user("after")
    lines = session.lines()
    lines[2] = b"{"
    path.write_bytes(b"\n".join(lines) + b"\n")

    assert words(path) == ["after"]


def test_the_summary_of_a_branch_that_was_left_is_kept(session: Session, path: Path) -> None:
    root = session.user("the beginning")
    left = session.user("a way not taken")
    session.leaf = root
    session.add("branch_summary", fromId=left, summary="Tried a way.")
    session.user("the way taken")
    session.write(path)

    found = tail(path)

    assert found.summary == "Tried a way."
    assert [message.text for message in found.messages] == ["the beginning", "the way taken"]


def test_before_a_compaction_only_what_it_kept_is_told(session: Session, path: Path) -> None:
    session.user("summarised away")
    kept = session.user("kept")
    session.add("compaction", summary="What went before.", firstKeptEntryId=kept, tokensBefore=30_000)
    session.user("after")
    session.write(path)

    found = tail(path)

    assert [message.text for message in found.messages] == ["kept", "after"]
    assert found.summary == "What went before."
    assert not found.complete


@pytest.mark.parametrize("kept", ["00000002", None])
def test_a_compaction_that_keeps_nothing_ends_the_tale(session: Session, path: Path, kept: str | None) -> None:
    session.agent("summarised away")
    session.add("compaction", summary="All of it.", firstKeptEntryId=kept)
    session.write(path)

    found = tail(path)

    assert (found.messages, found.summary, found.complete) == ((), "All of it.", False)


def test_only_the_newest_compaction_counts(session: Session, path: Path) -> None:
    kept = session.user("kept by both")
    session.add("compaction", summary="First.", firstKeptEntryId=kept)
    session.user("between")
    session.add("compaction", summary="Second.", firstKeptEntryId=kept)
    session.write(path)

    found = tail(path)

    assert found.summary == "Second."
    assert [message.text for message in found.messages] == ["kept by both", "between"]


def test_the_oldest_format_is_one_line_after_the_other(session: Session, path: Path) -> None:
    session.user("first")
    session.agent("second", ("c1", "write", {"file_path": "a.py"}))
    session.result("c1")
    for entry in session.entries[1:]:
        del entry["id"], entry["parentId"]
    session.write(path)

    found = tail(path)

    assert [message.text for message in found.messages] == ["first", "second"]
    assert (found.files, found.complete) == (("a.py",), True)


def test_what_was_edited_out_of_the_context_is_not_told(session: Session, path: Path) -> None:
    removed = session.user("taken back")
    changed = session.user("a long log")
    session.add("context_edit", targetId=changed, replacement={"content": "an older edit"})
    session.add("context_edit", targetId=changed, replacement={"content": "[log]"})
    session.add("context_edit", targetId=removed, replacement=None)
    session.write(path)

    assert words(path) == ["[log]"]


def test_entries_of_extensions_and_of_pi_are_nobodys_words(session: Session, path: Path) -> None:
    session.message("system", content="", sections={"preamble": "You are an assistant."})
    session.user("mine")
    session.add("custom_message", customType="carryover", content="recalled", display=False)
    session.add("custom", customType="carryover", data={"a": 1})
    session.add("usage", kind="cache_warm", provider="p", model="m", usage={})
    session.message("bashExecution", command="ls", output="a.py", exitCode=0)
    session.message("custom", content="of another extension")
    session.message("compactionSummary", content="of the past")
    session.add("label", targetId="00000002", label="here")
    session.add("of_next_year", anything=[1])
    session.write(path)

    found = tail(path)

    assert [message.text for message in found.messages] == ["mine"]
    assert count(path, 0) == Count(1, 0, path.stat().st_size)


def test_thinking_images_and_calls_are_not_text(session: Session, path: Path) -> None:
    session.message("user", content=[text("see this"), {"type": "image", "data": "AAAA", "mimeType": "image/png"}])
    session.message("assistant", content=[{"type": "thinking", "thinking": "hmm"}, text("one"), text("two")])
    session.message("user", content="plain")
    session.write(path)

    assert words(path) == ["see this", "one\ntwo", "plain"]


@pytest.mark.parametrize(
    ("said", "told"),
    [
        ("/model fake-1", []),
        ("/compact", []),
        ("/skill:review the parser", []),
        ("/usr/lib is full", ["/usr/lib is full"]),
        ("/plan\nfix the parser\nthen the lexer", ["/plan\nfix the parser\nthen the lexer"]),
        ("<local-command-stdout>On branch main</local-command-stdout>", []),
        ("<system-reminder>the date is\nnow</system-reminder>\ngo on", ["go on"]),
        ("<system-reminder>never closed", ["<system-reminder>never closed"]),
        ('<file name="/p/a.py">\nx = 1\n</file>\nexplain', ["[/p/a.py]\nexplain"]),
        ('<skill name="review" location="/s">\nDo this.\n</skill>\n\nthe parser', ["[review]\n\nthe parser"]),
        ("<carryover project=x>\n> note\n</carryover 1a2b3c4d>", []),
        ("<carryover project=x>\n> note\n</carryover 1a2b3c4d>\nmine", ["mine"]),
        ("use a <div> here", ["use a <div> here"]),
        ("  \n\t", []),
    ],
)
def test_a_hosts_wrappers_and_commands_are_dropped(session: Session, path: Path, said: str, told: list[str]) -> None:
    session.user(said)
    session.write(path)

    assert words(path) == told
    assert count(path, 0).users == len(told)


def test_our_block_is_taken_out_of_an_answer_too(session: Session, path: Path) -> None:
    session.agent("It says <carryover project=x>\n> note\n</carryover 1a2b3c4d>\nso I go on")
    session.write(path)

    assert "note" not in words(path)[0]


def test_what_is_told_can_be_stored(session: Session, path: Path) -> None:
    session.user("half \ud83d an emoji, a NUL \0, a bell \a, \r\n an end \u202e and back")
    session.write(path)

    (told,) = words(path)

    assert told.encode() == "half \ufffd an emoji, a NUL , a bell , \n an end  and back".encode()


# ---------------------------------------------------------------- whether a save stands


def note(session: Session, *, failed: bool = False) -> str:
    return session.tool("save_carryover", failed=failed, content="- [ ] x")


@pytest.mark.parametrize(
    ("after", "stands"),
    [
        (lambda s: note(s), True),
        (lambda s: (note(s), s.agent("Saved.")), True),
        (lambda s: (note(s), s.tool("read", path="a.py"), s.tool("grep", pattern="x")), True),
        (lambda s: (note(s), s.tool("edit", path="a.py")), False),
        (lambda s: (note(s), s.tool("bash", command="ls")), False),
        (lambda s: (note(s), s.tool("of_some_extension")), False),
        (lambda s: (note(s), s.user("one more thing")), False),
        (lambda s: (note(s), s.user("/model x")), True),
        (lambda s: (note(s), s.message("user", content=[{"type": "image", "data": "A"}])), False),
        (lambda s: (note(s), s.message("bashExecution", command="make", output="")), False),
        (lambda s: (note(s), s.message("bashExecution", command="ls", excludeFromContext=True)), True),
        (lambda s: (note(s), s.add("custom_message", customType="x", content="y")), True),
        (lambda s: note(s, failed=True), False),
        (lambda s: (note(s), note(s, failed=True)), True),
        (lambda s: s.agent("", ("c", "save_carryover", {"content": "never came back"})), False),
        (lambda s: None, False),
    ],
)
def test_a_save_stands_until_something_happens(
    session: Session, path: Path, after: Callable[[Session], object], stands: bool
) -> None:
    session.user("do it")
    after(session)
    session.write(path)

    assert tail(path).saved is stands


def test_a_change_in_the_turn_of_the_save_does_not_undo_it(session: Session, path: Path) -> None:
    session.agent("", ("c1", "save_carryover", {"content": "x"}), ("c2", "edit", {"path": "a.py"}))
    session.result("c1")
    session.result("c2")
    session.write(path)

    assert tail(path).saved


def test_a_save_stands_across_a_compaction_and_a_small_limit(session: Session, path: Path) -> None:
    session.user("do it")
    note(session)
    for number in range(5):
        session.agent(f"done {number}")
    session.add("compaction", summary="All.", firstKeptEntryId=session.leaf)
    session.write(path)

    assert tail(path, limit_messages=1).saved


# ---------------------------------------------------------------- files and failures


def test_files_are_those_whose_change_succeeded_the_latest_last(session: Session, path: Path) -> None:
    session.tool("write", path="a.py", content="x")
    session.tool("edit", path="b.py", edits=[])
    session.tool("edit", path="refused.py", failed=True)
    session.tool("read", path="read.py")
    session.tool("edit", path="a.py")
    session.write(path)

    assert tail(path).files == ("b.py", "a.py")


def test_the_newest_failure_is_told_on_one_line(session: Session, path: Path) -> None:
    session.tool("bash", failed=True, command="false")
    session.result("c9", "Command failed\nwith code 1", failed=True, name="bash")
    session.agent("go on")
    session.write(path)

    assert tail(path).last_error == "bash: Command failed with code 1"


def test_a_failure_of_the_model_is_a_failure(session: Session, path: Path) -> None:
    session.agent(stopReason="error", errorMessage="500 overloaded")
    session.agent(stopReason="aborted", errorMessage="Request was aborted")
    session.write(path)

    assert tail(path).last_error == "500 overloaded"


# ---------------------------------------------------------------- limits and offsets


def test_the_newest_messages_are_told_when_there_are_too_many(path: Path) -> None:
    conversation(10).write(path)

    found = tail(path, limit_messages=2)

    assert [message.text for message in found.messages] == ["question 9", "answer 9"]
    assert not found.complete


def test_a_session_of_just_as_many_messages_is_complete(path: Path) -> None:
    conversation(2).write(path)

    found = tail(path, limit_messages=4)

    assert (len(found.messages), found.count, found.complete) == (4, 4, True)


def test_reading_stops_at_the_limit_of_bytes_and_says_so(path: Path) -> None:
    conversation(20).write(path)

    found = tail(path, limit_bytes=1000)

    assert 0 < len(found.messages) < 10
    assert found.messages[-1].text == "answer 19"
    assert not found.complete


def test_since_shows_only_what_came_later(path: Path) -> None:
    session = conversation(1)
    seen = tail(session.write(path)).end
    session.user("new")

    found = tail(session.write(path), since=seen)

    assert [message.text for message in found.messages] == ["new"]
    assert found.complete
    assert tail(path, since=found.end).messages == ()


def test_an_offset_behind_the_end_was_measured_on_another_file(path: Path) -> None:
    conversation(1).write(path)

    assert len(tail(path, since=10**9).messages) == 2


def test_a_count_goes_on_where_the_last_one_ended(path: Path) -> None:
    session = conversation(3)
    first = count(session.write(path), 0)
    session.user("more")

    second = count(session.write(path), first.offset)

    assert first == Count(3, 3, first.offset)
    assert second == Count(1, 0, path.stat().st_size)
    assert count(path, 0, until=first.offset) == first


def test_a_huge_line_is_passed_over_and_not_held(path: Path) -> None:
    session = conversation(1)
    session.tool("save_carryover", content="x")
    session.tool("read", path="huge.log")
    lines = session.lines()
    session.entries[-1]["message"]["content"] = [text("x" * 20_000_000)]
    huge = json.dumps(session.entries[-1], separators=(",", ":")).encode()
    path.write_bytes(b"\n".join([*lines[:-1], huge, lines[0]]) + b"\n")
    del huge
    tracemalloc.start()

    try:
        found = tail(path)
        counted = count(path, 0)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert [message.text for message in found.messages] == ["question 0", "answer 0"]
    assert (found.saved, found.damaged, found.complete) == (True, 0, True)
    assert counted == Count(1, 1, path.stat().st_size)
    assert peak < 4_000_000


class CountingFile(io.BufferedReader):
    """Knows how many bytes were read from it."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.count += len(data)
        return data


def test_a_line_without_end_costs_no_more_than_a_few_limits(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with conversation(1).write(path).open("ab") as file:
        file.truncate(100_000_000)  # a hole, read as NUL bytes
    reader = CountingFile(io.FileIO(path))
    monkeypatch.setattr(Path, "open", lambda *_: reader)

    found = tail(path, limit_bytes=1_000_000)

    assert (found.messages, found.damaged, found.complete) == ((), 0, False)
    assert reader.count < 9_000_000


def test_the_work_in_huge_lines_counts(session: Session, path: Path) -> None:
    note(session)
    session.agent("", ("c1", "edit", {"path": "a.py"}), ("c2", "edit", {"path": "b.py"}))
    session.result("c1", "x" * 2_000_000)
    session.result("c2", "x" * 2_000_000, failed=True)
    session.write(path)
    assert tail(path).files == ("a.py",)

    session.user("again")
    note(session)
    session.agent("", ("c3", "write", {"path": "a", "content": "z" * 2_000_000}))
    session.write(path)
    assert not tail(path).saved


def test_the_words_before_a_huge_image_are_told(session: Session, path: Path) -> None:
    image = {"type": "image", "data": "A" * 2_000_000, "mimeType": "image/png"}
    session.message("user", content=[text('like "this"\nplease'), image])
    session.message("user", content="y" * 2_000_000)
    session.agent("", ("c", "write", {"path": "a", "content": "z" * 2_000_000}))
    session.write(path)

    told = words(path)

    assert told[0] == 'like "this"\nplease'
    assert told[1].startswith("yyy")
    assert told[1].endswith("y…")
    assert len(told) == 2


# ---------------------------------------------------------------- damage


def test_half_a_line_is_left_for_later(path: Path) -> None:
    session = conversation(2)
    session.write(path)
    whole = path.read_bytes()
    start = whole.rstrip(b"\n").rfind(b"\n") + 1
    path.write_bytes(whole[:-20])

    found = tail(path)

    assert [message.text for message in found.messages] == ["question 0", "answer 0", "question 1"]
    assert (found.damaged, found.end) == (0, start)
    assert count(path, 0).offset == start
    path.write_bytes(whole)
    assert words(path, since=found.end) == ["answer 1"]


def test_a_whole_last_line_without_a_newline_is_told(path: Path) -> None:
    conversation(1).write(path)
    path.write_bytes(path.read_bytes().rstrip(b"\n"))

    assert words(path) == ["question 0", "answer 0"]


@pytest.mark.parametrize("damage", [b"{broken", b"\0\0\0\0", b"\xff\xfe{", b"[1, 2]", b"[" * 100_000])
@pytest.mark.parametrize("at", range(1, 6))
def test_a_damaged_line_is_skipped_counted_and_hides_nothing_else(path: Path, damage: bytes, at: int) -> None:
    session = conversation(3)
    lines = session.lines()
    expected = [entry["message"]["content"][0]["text"] for entry in session.entries[1:]]
    del expected[at - 1]
    lines[at] = damage
    path.write_bytes(b"\n".join(lines) + b"\n")

    found = tail(path)

    assert [message.text for message in found.messages] == expected
    assert found.damaged == 1


def test_many_damaged_lines_hide_nothing_else(path: Path) -> None:
    lines = conversation(6).lines()
    path.write_bytes(b"\n".join(line[:20] if number % 3 == 2 else line for number, line in enumerate(lines)) + b"\n")

    found = tail(path)

    assert [message.text[-1] for message in found.messages] == list("01123445")
    assert found.damaged == 4


def test_damage_beside_the_branch_brings_no_other_branch_in(session: Session, path: Path) -> None:
    root = session.user("root")
    session.user("left")
    session.user("damaged")
    session.leaf = root
    session.user("taken")
    lines = session.lines()
    lines[3] = b"{"
    path.write_bytes(b"\n".join(lines) + b"\n")

    assert words(path) == ["root", "taken"]


def test_damage_bridged_is_forgotten(session: Session, path: Path) -> None:
    root = session.user("root")
    kept = session.user("kept")
    session.leaf = root
    session.user("left")
    session.user("damaged")
    session.leaf = kept
    session.user("taken")
    lines = session.lines()
    lines[4] = b"{"
    path.write_bytes(b"\n".join(lines) + b"\n")

    assert words(path, since=len(lines[0] + lines[1]) + 2) == ["kept", "taken"]


def test_an_entry_glued_to_half_a_line_is_found(path: Path) -> None:
    session = conversation(2)
    lines = session.lines()
    torn = lines[2][:70]
    session.entries[3]["parentId"] = session.entries[1]["id"]
    glued = session.lines()
    path.write_bytes(b"\n".join([glued[0], glued[1], torn + glued[3], glued[4]]) + b"\n")

    found = tail(path)

    assert [message.text for message in found.messages] == ["question 0", "question 1", "answer 1"]
    assert found.damaged == 1
    assert count(path, 0) == Count(2, 1, path.stat().st_size)


def test_raw_control_characters_are_no_damage(session: Session, path: Path) -> None:
    session.user("one@two")
    path.write_bytes(session.write(path).read_bytes().replace(b"@", b"\0\x1b"))

    assert words(path) == ["onetwo"]


def test_a_bom_before_half_a_header_is_no_other_kind_of_file(session: Session, path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + session.lines()[0][:40])

    assert tail(path).messages == ()


def test_a_bom_blank_lines_and_crlf_are_no_damage(path: Path) -> None:
    lines = conversation(1).lines()
    path.write_bytes(b"\xef\xbb\xbf" + b"\r\n".join([lines[0], b"", *lines[1:]]) + b"\r\n\r\n")

    found = tail(path)

    assert [message.text for message in found.messages] == ["question 0", "answer 0"]
    assert (found.damaged, found.end) == (0, path.stat().st_size)


def test_a_session_cut_at_any_byte_is_read(path: Path) -> None:
    session = conversation(2)
    session.tool("write", path="a.py")
    data = session.write(path).read_bytes()

    for length in range(len(data)):
        path.write_bytes(data[:length])
        if length < len(b'{"type":"session"'):
            continue
        found = tail(path)
        assert (found.damaged, found.end) in [(0, data.rfind(b"\n", 0, length) + 1), (0, length)]


@settings(deadline=None)
@given(st.lists(st.binary(max_size=80) | st.sampled_from(conversation(2).lines()), max_size=8))
def test_no_bytes_are_too_bad(tmp_path_factory: pytest.TempPathFactory, pieces: list[bytes]) -> None:
    path = tmp_path_factory.mktemp("any") / "session.jsonl"
    path.write_bytes(b"\n".join(pieces))

    try:
        found = tail(path)
    except TranscriptMalformed:
        found = None

    assert found is None or found.end <= path.stat().st_size
    assert count(path, 0).offset <= path.stat().st_size


@settings(deadline=None, max_examples=30)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=5), st.lists, max_leaves=3))
def test_no_value_is_too_strange(tmp_path_factory: pytest.TempPathFactory, value: object) -> None:
    path = tmp_path_factory.mktemp("any") / "session.jsonl"
    session = conversation(1)
    session.tool("edit", path="a.py")
    session.add("compaction", summary="All.", firstKeptEntryId=None)
    session.add("branch_summary", summary="A way.")
    session.add("context_edit", targetId=session.leaf, replacement=None)
    header, *entries = session.entries
    strange = [entry | {name: value} for entry in entries for name in entry]
    for entry in entries:
        message = entry.get("message", {})
        strange += [entry | {"message": message | {name: value}} for name in message]

    for entry in strange:
        path.write_text(f"{json.dumps(header)}\n{json.dumps(entry)}\n", encoding="utf-8")
        assert tail(path).damaged == 0
        assert count(path, 0).offset == path.stat().st_size


# ---------------------------------------------------------------- no session at all


def test_a_missing_file_is_missing(tmp_path: Path) -> None:
    for name in ("nothing.jsonl", "a\0b", "\ud83d"):
        with pytest.raises(TranscriptMissing, match="no such file"):
            tail(tmp_path / name)


def test_a_folder_and_a_pipe_are_unreadable(tmp_path: Path) -> None:
    with pytest.raises(TranscriptUnreadable, match="not a regular file"):
        tail(tmp_path)
    if hasattr(os, "mkfifo"):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(TranscriptUnreadable, match="not a regular file"):
            count(tmp_path / "pipe", 0)


def test_a_file_that_may_not_be_read_says_why(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    conversation(1).write(path)

    def refuse(*args: object, **kwargs: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refuse)

    with pytest.raises(TranscriptUnreadable, match="Permission denied"):
        tail(path)


@pytest.mark.parametrize(
    "data",
    [
        b"just a text",
        b"just\na text\n",
        b'{"type":"user","uuid":"1","message":{"role":"user"}}\n',
        b"\0" * 5000,
        b"{}\n",
    ],
)
def test_a_file_of_another_kind_is_malformed(path: Path, data: bytes) -> None:
    path.write_bytes(data)

    with pytest.raises(TranscriptMalformed, match="not a session file of pi"):
        tail(path)


def test_an_empty_file_and_a_bare_header_are_empty_sessions(session: Session, path: Path) -> None:
    path.write_bytes(b"")
    assert tail(path).messages == ()

    session.write(path)
    assert tail(path).messages == ()

    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert tail(path).damaged == 0


# ---------------------------------------------------------------- recorded sessions, where they are at hand


@pytest.mark.skipif("CARRYOVER_EVAL_DATA" not in os.environ, reason="needs CARRYOVER_EVAL_DATA, a folder of recordings")
def test_recorded_sessions_are_read_without_damage() -> None:
    folder = Path(os.environ["CARRYOVER_EVAL_DATA"]) / "F" / "transcripts"

    tails = [tail(path) for path in sorted(folder.glob("pi-*.jsonl"))]

    assert tails
    assert all(found.messages and found.complete and not found.damaged for found in tails)
