from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from carryover.errors import StoreUnavailable
from carryover.memory.events import Event
from carryover.memory.note import items
from carryover.store import views
from carryover.store.store import Store
from carryover.store.views import Kind

Save = Callable[..., Event]
Stores = Callable[..., Store]

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes need no rights there")


def kind(store: Store) -> Kind:
    return store.view(store.known().state).kind


def shown(store: Store) -> str:
    return store.view_path.read_text(encoding="utf-8")


def edit(store: Store, old: str, new: str) -> None:
    text = shown(store)
    assert old in text
    store.view_path.write_text(text.replace(old, new, 1), encoding="utf-8", newline="")


def open_items(store: Store) -> list[str]:
    note = store.known().state.note(store.project.tree)
    return [item.text for item in items(note.text)] if note else []


def touch(store: Store) -> str:
    """What a writer does that adds nothing: edits are merged, the view is rendered. Its problem is returned."""
    with store.writing() as writer:
        writer.append("set", by="agent", rec="nothing", to="done")
    return writer.problem


# ---------------------------------------------------------------- rendering


def test_the_view_is_the_note_and_a_comment_that_names_it(store: Store, save: Save) -> None:
    saved = save(store, "# Plan\n\n- [ ] parser\n- [x] grammar\n")

    note, comment = shown(store).split("\n\n<!-- ")
    assert note == "# Plan\n\n- [ ] parser"
    assert comment.startswith(f"carryover note={saved.id} after= sum=")
    assert comment.endswith(" · edit the note above as you like: edits are merged -->\n")
    assert kind(store) is Kind.CURRENT


def test_the_same_state_renders_to_the_same_bytes(store: Store, stores: Stores, save: Save) -> None:
    save(store, "- [ ] parser")

    assert views.render(stores().known().state) == views.render(store.known().state) == shown(store)


def test_a_tail_stands_below_the_note_quoted_and_named(store: Store, save: Save) -> None:
    save(store, "- [ ] parser")

    tail = save(store, "- fix it\n<!-- /carryover tail -->\n# not a heading", source="raw", base=[], covers=[2, 9])

    assert f"<!-- carryover tail {tail.id} -->\n## Not yet in the note: the last 2 of 9 messages" in shown(store)
    assert "\n> <!-- /carryover tail -->\n> # not a heading\n<!-- /carryover tail -->\n" in shown(store)
    view = store.view(store.known().state)
    assert view.kind is Kind.CURRENT
    assert view.text == "- [ ] parser"
    assert view.tails == {tail.id}


def test_a_view_that_needs_no_change_is_not_written(store: Store, save: Save) -> None:
    save(store, "- [ ] parser")
    before = store.view_path.stat()

    touch(store)

    assert store.view_path.stat().st_ino == before.st_ino
    assert store.view_path.stat().st_mtime_ns == before.st_mtime_ns


# ---------------------------------------------------------------- the five cases


def test_an_item_ticked_changed_deleted_or_added_by_hand_becomes_an_event(store: Store, save: Save) -> None:
    save(store, "- [ ] one\n- [ ] two\n- [ ] three")
    edit(store, "- [ ] one\n- [ ] two\n- [ ] three", "- [x] one\n- [ ] two, differently\n- [ ] four")

    assert kind(store) is Kind.EDITED
    touch(store)

    assert open_items(store) == ["two, differently", "four"]
    assert kind(store) is Kind.CURRENT
    assert "one" not in shown(store)
    assert [event.source for event in store.log.newest(2, lambda event: event.op == "note")] == ["edit", "agent"]


def test_an_edit_of_an_older_view_is_merged_with_the_note_of_now(store: Store, save: Save) -> None:
    save(store, "- [ ] one\n- [ ] two")
    older = shown(store)
    save(store, "- [ ] one\n- [ ] two\n- [ ] three")
    store.view_path.write_text(older.replace("- [ ] one", "- [ ] zero"), encoding="utf-8")

    touch(store)

    assert sorted(open_items(store)) == ["three", "two", "zero"]


def test_text_below_the_comment_is_an_edit_too(store: Store, save: Save) -> None:
    save(store, "- [ ] one")
    with store.view_path.open("a", encoding="utf-8") as file:
        file.write("- [ ] two\n")

    touch(store)

    assert open_items(store) == ["one", "two"]


def test_white_space_and_line_ends_are_no_edit(store: Store, save: Save) -> None:
    save(store, "- [ ] one\n\n- [ ] two")
    store.view_path.write_bytes(b"\n" + shown(store).replace("\n", "  \r\n").encode() + b"\r\n\r\n")

    assert kind(store) is Kind.CURRENT


def test_an_older_branch_changes_nothing(store: Store, save: Save) -> None:
    save(store, "- [ ] one")
    older = shown(store)
    save(store, "- [ ] two")
    events = store.known().state.events

    store.view_path.write_text(older, encoding="utf-8")
    assert kind(store) is Kind.OLDER
    with store.writing():
        pass

    assert store.known().state.events == events
    assert open_items(store) == ["two"]
    assert shown(store) == older


def test_an_older_branch_changes_nothing_however_old_it_is(store: Store, save: Save) -> None:
    save(store, "- [ ] one")
    older = shown(store)
    for number in range(30):
        save(store, f"- [ ] note {number}")

    store.view_path.write_text(older, encoding="utf-8")

    assert kind(store) is Kind.OLDER


def test_an_older_view_without_a_comment_changes_nothing(store: Store, save: Save) -> None:
    """A note that pi-carryover 1.x wrote and somebody committed, long before it was imported."""
    store.project.folder.mkdir()
    store.view_path.write_text("# TODO\n- one\n- two\n", encoding="utf-8")
    save(store, "- [ ] three")

    store.view_path.write_text("# TODO\n- one\n- two\n", encoding="utf-8")

    assert kind(store) is Kind.OLDER
    touch(store)
    assert open_items(store) == ["three"]


@pytest.mark.parametrize(
    "conflict",
    [
        "<<<<<<< HEAD\n{ours}=======\n{theirs}>>>>>>> feature\n",
        "<<<<<<< HEAD\n{ours}||||||| base\n{base}=======\n{theirs}>>>>>>> feature\n",
    ],
)
def test_conflict_markers_are_left_alone_and_named(store: Store, save: Save, conflict: str) -> None:
    save(store, "- [ ] one")
    text = conflict.format(ours=shown(store), theirs="- [ ] theirs\n", base="- [ ] base\n")
    store.view_path.write_text(text, encoding="utf-8")

    problem = touch(store)
    saved = save(store, "- [ ] two")

    assert kind(store) is Kind.CONFLICT
    assert problem == f"{store.view_path} holds conflict markers; resolve them, and the note is merged"
    assert shown(store) == text
    assert store.known().state.heads[""][0].id == saved.id
    assert store.delivered()[1] == problem


def test_a_resolved_conflict_is_merged(store: Store, save: Save) -> None:
    save(store, "- [ ] one")
    ours = shown(store)
    store.view_path.write_text(f"<<<<<<< HEAD\n{ours}=======\n- [ ] theirs\n>>>>>>> feature\n", encoding="utf-8")
    save(store, "- [ ] one\n- [ ] two")

    store.view_path.write_text(f"- [ ] theirs\n{ours}", encoding="utf-8")
    touch(store)

    assert sorted(open_items(store)) == ["one", "theirs", "two"]


def test_a_note_that_speaks_of_conflicts_is_none(store: Store, save: Save) -> None:
    text = "Title\n=======\n\n- [ ] explain:\n\n```\n<<<<<<< HEAD\na\n=======\nb\n>>>>>>> x\n```\n\nMore\n======="

    save(store, text)

    assert kind(store) is Kind.CURRENT


def test_a_file_of_ours_that_was_cut_anywhere_is_never_parsed_back(
    store: Store, save: Save, subtests: pytest.Subtests
) -> None:
    save(store, "- [ ] one\n- [ ] another one")
    save(store, "- said", source="raw", base=[], session="a", covers=[1, 1])
    whole = shown(store)
    before = store.known().state
    state = before

    for kept in range(len(whole) - 1):
        with subtests.test(kept=kept):
            store.view_path.write_text(whole[:kept], encoding="utf-8")
            edits = store.edits(state, store.view(state))

            assert edits == []


def test_an_older_file_of_ours_that_was_cut_takes_no_item_away(
    store: Store, save: Save, subtests: pytest.Subtests
) -> None:
    save(store, "- [ ] one\n- [ ] another one")
    older = shown(store)
    save(store, "- [ ] two\n- [ ] another one\n- [ ] one")
    state = store.known().state

    for kept in range(len(older)):
        with subtests.test(kept=kept):
            store.view_path.write_text(older[:kept], encoding="utf-8")
            edits = store.edits(state, store.view(state))

            assert edits == []


def test_a_cut_file_is_rendered_again(store: Store, save: Save) -> None:
    save(store, "- [ ] one\n- [ ] two")
    whole = shown(store)
    store.view_path.write_text(whole[:12], encoding="utf-8")

    touch(store)

    assert shown(store) == whole


def test_an_edit_above_a_cut_comment_is_an_edit(store: Store, save: Save) -> None:
    save(store, "- [ ] one\n- [ ] two")
    save(store, "- [ ] one\n- [ ] two\n- [ ] three")
    text = shown(store).replace("- [ ] one\n", "- [ ] zero\n")
    store.view_path.write_text(text[: text.index("sum=")], encoding="utf-8")

    touch(store)

    assert open_items(store) == ["zero", "two", "three"]


def test_a_view_that_was_taken_away_is_rendered_again(store: Store, save: Save) -> None:
    save(store, "- [ ] one")
    whole = shown(store)
    store.view_path.unlink()

    assert kind(store) is Kind.MISSING
    touch(store)

    assert shown(store) == whole


# ---------------------------------------------------------------- teammates


@pytest.fixture
def team(stores: Stores, tmp_path: Path) -> tuple[Store, Store]:
    """Two people with a log each, who share nothing but CARRYOVER.md."""
    found = []
    for person in ("alice", "bob"):
        (tmp_path / person).mkdir()
        found.append(stores(tmp_path / person))
    return found[0], found[1]


def pull(source: Store, target: Store) -> None:
    target.view_path.parent.mkdir(exist_ok=True)
    target.view_path.write_bytes(source.view_path.read_bytes())


def test_a_teammates_note_is_merged_and_nothing_of_ours_goes(team: tuple[Store, Store], save: Save) -> None:
    alice, bob = team
    save(alice, "- [ ] hers")
    save(bob, "- [ ] his")

    pull(alice, bob)
    assert kind(bob) is Kind.TEAMMATE
    touch(bob)

    assert sorted(open_items(bob)) == ["hers", "his"]
    taken = bob.log.newest(1, lambda event: event.op == "note")[0]
    assert (taken.source, taken.origin) == ("teammate", alice.known().state.last)
    assert kind(bob) is Kind.CURRENT


def test_a_teammates_next_note_takes_away_what_they_finished_and_nothing_they_never_saw(
    team: tuple[Store, Store], save: Save
) -> None:
    alice, bob = team
    save(alice, "- [ ] hers\n- [ ] hers too")
    save(bob, "- [ ] his")
    pull(alice, bob)
    touch(bob)
    save(alice, "- [ ] hers too\n- [ ] new")

    pull(alice, bob)
    touch(bob)

    assert sorted(open_items(bob)) == ["hers too", "his", "new"]


def test_two_people_who_pull_from_each_other_agree(team: tuple[Store, Store], save: Save) -> None:
    alice, bob = team
    save(alice, "- [ ] hers")
    save(bob, "- [ ] his")

    for _ in range(3):
        pull(alice, bob)
        touch(bob)
        pull(bob, alice)
        touch(alice)

    assert sorted(open_items(alice)) == sorted(open_items(bob)) == ["hers", "his"]


def test_a_pulled_note_with_nothing_new_dirties_no_work_tree(team: tuple[Store, Store], save: Save) -> None:
    alice, bob = team
    save(alice, "- [ ] hers")
    pull(alice, bob)
    pulled = bob.view_path.read_bytes()

    touch(bob)
    touch(bob)

    assert open_items(bob) == ["hers"]
    assert bob.view_path.read_bytes() == pulled
    assert kind(bob) is Kind.CURRENT


def test_a_teammates_file_that_was_edited_by_hand_loses_nothing_of_ours(team: tuple[Store, Store], save: Save) -> None:
    alice, bob = team
    save(alice, "- [ ] hers\n- [ ] hers too")
    save(bob, "- [ ] his")
    pull(alice, bob)
    touch(bob)

    pull(alice, bob)
    edit(bob, "- [ ] hers\n", "- [ ] by hand\n")
    touch(bob)
    save(alice, "- [ ] hers\n- [ ] hers too\n- [ ] new")
    pull(alice, bob)
    touch(bob)

    assert {"his", "by hand", "hers too", "new"} <= set(open_items(bob))


def test_what_was_written_into_a_pulled_file_before_it_was_read_stays(team: tuple[Store, Store], save: Save) -> None:
    alice, bob = team
    save(alice, "- [ ] hers")
    pull(alice, bob)
    edit(bob, "- [ ] hers\n", "- [ ] hers\n- [ ] by hand\n")
    touch(bob)

    save(alice, "- [ ] hers\n- [ ] new")
    pull(alice, bob)
    touch(bob)

    assert sorted(open_items(bob)) == ["by hand", "hers", "new"]


def test_a_teammates_note_pulled_again_changes_nothing(team: tuple[Store, Store], save: Save) -> None:
    alice, bob = team
    save(alice, "- [ ] hers")
    pull(alice, bob)
    touch(bob)
    save(bob, "- [ ] his")
    events = bob.known().state.events

    pull(alice, bob)

    assert kind(bob) is Kind.OLDER
    with bob.writing():
        pass
    assert bob.known().state.events == events


# ---------------------------------------------------------------- how a file is written


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("bom", [b"", b"\xef\xbb\xbf"])
def test_line_ends_and_byte_order_mark_are_kept(store: Store, save: Save, newline: str, bom: bytes) -> None:
    save(store, "- [ ] one")
    store.view_path.write_bytes(bom + shown(store).replace("\n", newline).encode())

    save(store, "- [ ] one\n- [ ] two")

    content = store.view_path.read_bytes()
    assert content.startswith(bom + b"- [ ] one")
    assert content.count(b"\r\n") == (content.count(b"\n") if newline == "\r\n" else 0)
    assert kind(store) is Kind.CURRENT


@posix
@pytest.mark.parametrize("mode", [0o600, 0o664, 0o666, 0o444])
def test_the_mode_of_the_file_is_kept(store: Store, save: Save, mode: int) -> None:
    save(store, "- [ ] one")
    store.view_path.chmod(mode)

    save(store, "- [ ] two")

    assert store.view_path.stat().st_mode & 0o777 == mode


# ---------------------------------------------------------------- files that are no note


def not_utf8(path: Path) -> None:
    path.write_bytes(b"- [ ] caf\xe9\n")


def huge(path: Path) -> None:
    path.write_bytes(b"x" * (views.LARGEST + 1))


def folder(path: Path) -> None:
    path.mkdir()


def link(path: Path) -> None:
    elsewhere = path.parent.parent / "elsewhere.md"
    elsewhere.write_text("- [ ] somebody's", encoding="utf-8")
    path.symlink_to(elsewhere)


def dangling(path: Path) -> None:
    path.symlink_to(path.parent.parent / "nowhere.md")


def pipe(path: Path) -> None:
    os.mkfifo(path)


@posix
@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (not_utf8, "is not UTF-8 (byte 9); it is left alone"),
        (huge, "is larger than 1000000 bytes, which is no note; it is left alone"),
        (folder, "is not a regular file"),
        (link, "is a link, and carryover writes through none; put a file of its own in its place"),
        (dangling, "is a link, and carryover writes through none; put a file of its own in its place"),
        (pipe, "is not a regular file"),
    ],
)
def test_what_is_no_note_is_left_alone_and_the_save_stands(
    store: Store, save: Save, spoil: Callable[[Path], None], reason: str
) -> None:
    save(store, "- [ ] one")
    store.view_path.unlink()
    spoil(store.view_path)
    before = _everything(store.project.root)

    with store.writing() as writer:
        writer.append("note", by="agent", source="agent", base=writer.base, text="- [ ] two")

    assert writer.problem == f"{store.view_path} {reason}"
    assert open_items(store) == ["two"]
    state, said = store.delivered()
    assert said == writer.problem
    assert state.note() is not None
    assert {**_everything(store.project.root), **before} == _everything(store.project.root)
    with pytest.raises(StoreUnavailable, match=r"CARRYOVER\.md"):
        store.view(state)


def _everything(root: Path) -> dict[str, Any]:
    """What is outside of our log and its companions: kind, and content of regular files."""
    found: dict[str, Any] = {}
    for path in root.rglob("*"):
        if path.suffix not in (".log", ".lock", ".next"):
            status = path.lstat()
            found[str(path)] = (status.st_mode, path.read_bytes() if path.is_file() and not path.is_symlink() else b"")
    return found


@posix
@pytest.mark.parametrize(
    "name", ["carryover.log", "carryover.lock", "carryover.lock.next", "carryover.0001.log", "carryover.log.1"]
)
def test_a_link_in_the_place_of_a_file_of_ours_is_refused_not_written_through(
    store: Store, save: Save, tmp_path: Path, name: str
) -> None:
    elsewhere = tmp_path / "profile"
    elsewhere.write_text("export PATH\n", encoding="utf-8")
    store.project.folder.mkdir()
    (store.project.folder / name).symlink_to(elsewhere)

    with pytest.raises(StoreUnavailable, match=f"{name} is a link, and carryover writes through none"):
        save(store, "- [ ] one")

    assert elsewhere.read_text(encoding="utf-8") == "export PATH\n"


@posix
def test_a_folder_that_is_a_link_is_neither_read_nor_written_through(
    store: Store, stores: Stores, save: Save, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    other = stores(tmp_path / "other")
    save(other, "- [ ] somebody else's")
    before = {path.name: path.read_bytes() for path in other.project.folder.iterdir()}
    store.project.folder.symlink_to(other.project.folder)

    with pytest.raises(StoreUnavailable, match=r"\.pi is a link"):
        save(store, "- [ ] one")
    with pytest.raises(StoreUnavailable, match=r"\.pi is a link"):
        store.delivered()

    assert {path.name: path.read_bytes() for path in other.project.folder.iterdir()} == before


@posix
def test_a_pipe_in_the_place_of_the_log_hangs_nobody(store: Store, save: Save) -> None:
    store.project.folder.mkdir()
    os.mkfifo(store.log.path)

    with pytest.raises(StoreUnavailable, match=r"carryover\.log is not a regular file"):
        save(store, "- [ ] one")


# ---------------------------------------------------------------- copied and typed into


def test_a_note_copied_with_its_comments_is_the_note(store: Store, save: Save) -> None:
    save(store, "- [ ] one")
    save(store, "- said", source="raw", base=[], session="a", covers=[1, 1])

    saved = save(store, shown(store) + "- [ ] two\n")

    assert "<!--" not in saved.text
    assert "- [ ] one" in saved.text
    assert "> - said" in saved.text
    assert kind(store) is Kind.CURRENT


def test_what_was_typed_into_a_tail_is_kept(store: Store, save: Save) -> None:
    save(store, "- [ ] one")
    tail = save(store, "- said", source="raw", base=[], session="a", covers=[1, 1])
    edit(store, "> - said\n", "> - said\n- [ ] that means two\n")

    touch(store)

    assert open_items(store) == ["one", "that means two"]
    assert [one.id for one in store.known().state.tails()] == [tail.id]


def test_a_tail_deleted_from_the_file_is_dismissed(store: Store, save: Save) -> None:
    save(store, "- [ ] one")
    for session in ("a", "b"):
        save(store, f"- said in {session}", source="raw", base=[], session=session, covers=[1, 1])
    text = shown(store)
    start = text.index("<!-- carryover tail")
    end = text.index("<!-- /carryover tail -->\n") + len("<!-- /carryover tail -->\n\n")

    store.view_path.write_text(text[:start] + text[end:], encoding="utf-8")
    touch(store)

    assert [tail.session for tail in store.known().state.tails()] == ["b"]
    assert open_items(store) == ["one"]


def test_the_count_of_older_tails_is_no_part_of_the_note(store: Store, save: Save) -> None:
    for number in range(6):
        save(store, f"- said {number}", source="raw", base=[], session=f"s{number}", covers=[1, 1])
    assert "older tails" in shown(store)

    edit(store, "<!-- carryover tail", "- [ ] by hand\n\n<!-- carryover tail")
    touch(store)

    assert open_items(store) == ["by hand"]


@pytest.mark.parametrize(
    "bomb",
    [
        "<!-- carryover note=X after= sum=00000000 " * 20_000,
        "<!-- carryover tail X -->\n" * 30_000,
        "<!-- carryover note=" * 40_000,
        "<<<<<<< a\n" * 90_000,
        "<!-- carryover tail X -->\n<!-- /carryover tail -->\n" * 15_000,
        "\n" * 900_000,
    ],
)
def test_a_hostile_file_is_read_in_time(store: Store, save: Save, bomb: str) -> None:
    save(store, "- [ ] one")
    state = store.known().state
    store.view_path.write_text(bomb, encoding="utf-8")

    started = time.process_time()
    views.read(store.view_path, state)

    assert time.process_time() - started < 1


# ---------------------------------------------------------------- edits that come meanwhile


def test_an_edit_saved_while_we_write_is_merged_not_overwritten(store: Store, save: Save) -> None:
    save(store, "- [ ] one")

    with store.writing() as writer:
        writer.append("note", by="agent", source="agent", base=writer.base, text="- [ ] one\n- [ ] agent's")
        edit(store, "- [ ] one", "- [ ] one\n- [ ] by hand")

    assert sorted(open_items(store)) == ["agent's", "by hand", "one"]
    assert "- [ ] by hand" in shown(store)
    assert "- [ ] agent's" in shown(store)


def test_an_edit_saved_between_reading_and_rendering_is_merged(
    store: Store, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    save(store, "- [ ] one")
    read = views.read
    edits: Iterator[str] = iter(["- [ ] by hand", "- [ ] by hand again"])

    def read_then_edited(*arguments: Any) -> views.View:
        view = read(*arguments)
        if (line := next(edits, None)) is not None:
            edit(store, "- [ ] one", f"- [ ] one\n{line}")
        return view

    monkeypatch.setattr(views, "read", read_then_edited)
    with store.writing() as writer:
        writer.append("note", by="agent", source="agent", base=writer.base, text="- [ ] one\n- [ ] agent's")

    assert sorted(open_items(store)) == ["agent's", "by hand", "by hand again", "one"]


# ---------------------------------------------------------------- git


@pytest.fixture
def repository(project: Path) -> Callable[..., str]:
    def git(*arguments: str) -> str:
        command = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org", *arguments]
        return subprocess.run(command, cwd=project, check=True, capture_output=True, text=True).stdout

    git("init", "-q")
    return git


def test_of_our_files_git_status_shows_only_the_note(
    repository: Callable[..., str], store: Store, save: Save, monkeypatch: pytest.MonkeyPatch
) -> None:
    from carryover.store import checkpoints, log, pointer, trace

    monkeypatch.setattr(log, "ROTATE_AT", 1)
    for number in range(3):
        save(store, f"- [ ] item {number}")
    trace.delivered(store.system, store.project.folder, at=store.now(), session="s", ids=[], tokens=1, fingerprint="f")
    pointer.write_pointer(store.system, store.project.folder, "/home/me/session.jsonl")
    one = checkpoints.Checkpoint("abcdefgh", "/f", 0, 0, 1, 1, "pi", "tui", "", "en", None)
    checkpoints.Checkpoints(store.project.log_folder, store.system, store.key).keep(one)
    (store.project.folder / "carryover.log.1").touch()
    (store.project.folder / ".carryover.0123456789ab.tmp").touch()

    assert repository("status", "--porcelain", "--untracked-files=all") == "?? .pi/CARRYOVER.md\n"


@pytest.mark.parametrize("theirs", ["notes/\n*.bak", "# mine\r\n/secret.txt\r\n", ""])
def test_an_ignore_file_of_the_users_is_added_to_and_hides_nothing_of_theirs(
    repository: Callable[..., str], store: Store, save: Save, theirs: str
) -> None:
    folder = store.project.folder
    folder.mkdir()
    (folder / ".gitignore").write_bytes(theirs.encode())
    for name in ("settings.json", "draft.tmp", ".hidden.tmp", "carryover.md", "carryover.notes.log", "SYSTEM.md"):
        (folder / name).touch()

    save(store, "- [ ] one")
    save(store, "- [ ] two")

    content = (folder / ".gitignore").read_bytes()
    assert content.startswith(theirs.encode())
    assert content.count(b"/carryover.lock\n") == 1
    assert repository("status", "--porcelain", "--untracked-files=all").splitlines() == [
        "?? .pi/.gitignore",
        "?? .pi/.hidden.tmp",
        "?? .pi/CARRYOVER.md",
        "?? .pi/SYSTEM.md",
        "?? .pi/carryover.md",
        "?? .pi/carryover.notes.log",
        "?? .pi/draft.tmp",
        "?? .pi/settings.json",
    ]


@posix
def test_a_linked_ignore_file_is_not_written_through_and_keeps_nobody_from_saving(
    store: Store, save: Save, tmp_path: Path
) -> None:
    elsewhere = tmp_path / "gitignore"
    elsewhere.write_text("*.bak\n", encoding="utf-8")
    store.project.folder.mkdir()
    (store.project.folder / ".gitignore").symlink_to(elsewhere)

    save(store, "- [ ] one")

    assert elsewhere.read_text(encoding="utf-8") == "*.bak\n"
    assert open_items(store) == ["one"]
