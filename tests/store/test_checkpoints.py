from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from carryover.errors import StoreUnavailable
from carryover.process import Owner
from carryover.store.checkpoints import Checkpoint, Checkpoints
from carryover.store.files import SYSTEM

posix = pytest.mark.skipif(sys.platform == "win32", reason="links and pipes need no rights there")

CHECKPOINT = Checkpoint(
    session="0b9c1c1e-9d1c-4e5e-8a53-3c3f5f5d3a11",
    file="/home/me/.pi/agent/sessions/a b/测试.jsonl",
    since=0,
    before=0,
    users=2,
    messages=5,
    host="pi",
    mode="tui",
    tree="",
    language="en",
    owner=Owner(4711, "boot/123", "laptop"),
)


def KEY() -> bytes:  # noqa: N802 - a constant, as the store gives it
    return b"k" * 32


@pytest.fixture
def checkpoints(project: Path) -> Checkpoints:
    return Checkpoints(project, SYSTEM, KEY)


def test_a_checkpoint_comes_back_as_it_was_kept(checkpoints: Checkpoints, project: Path) -> None:
    checkpoints.keep(CHECKPOINT)

    assert Checkpoints(project, SYSTEM, KEY).all() == [CHECKPOINT]
    assert checkpoints.path(CHECKPOINT.session).name == f"{CHECKPOINT.session}.json"


def test_a_checkpoint_that_was_not_signed_here_is_not_believed(checkpoints: Checkpoints, project: Path) -> None:
    checkpoints.keep(CHECKPOINT)
    path = checkpoints.path(CHECKPOINT.session)
    signed = path.read_bytes()

    forged = [
        signed.replace(b"sessions/a b", b"sessions/a c"),
        signed.partition(b',"mac":"')[0] + b"}",
        signed.replace(b'"mac":"', b'"mac":"0'),
    ]

    for content in forged:
        path.write_bytes(content)
        assert checkpoints.all() == []
    path.write_bytes(signed)
    assert Checkpoints(project, SYSTEM, lambda: b"o" * 32).all() == []
    assert Checkpoints(project, SYSTEM, lambda: None).all() == [CHECKPOINT]


def test_a_session_on_another_machine_has_ended_after_a_day_without_a_sign(checkpoints: Checkpoints) -> None:
    checkpoints.keep(replace(CHECKPOINT, owner=Owner(4711, "boot/123", "a container that is gone")))

    before = checkpoints.ended()
    path = checkpoints.path(CHECKPOINT.session)
    os.utime(path, (path.stat().st_atime, path.stat().st_mtime - 90_000))

    assert before == []
    assert [one.session for one in checkpoints.ended()] == [CHECKPOINT.session]


def test_a_checkpoint_replaces_the_one_before(checkpoints: Checkpoints) -> None:
    checkpoints.keep(CHECKPOINT)
    checkpoints.keep(replace(CHECKPOINT, users=3, owner=None, raw="01JD"))

    assert checkpoints.all() == [replace(CHECKPOINT, users=3, owner=None, raw="01JD")]


def test_a_checkpoint_is_dropped_by_one_only(checkpoints: Checkpoints) -> None:
    checkpoints.keep(CHECKPOINT)

    assert checkpoints.drop(CHECKPOINT.session)
    assert not checkpoints.drop(CHECKPOINT.session)
    assert checkpoints.all() == []


def test_no_folder_is_no_checkpoint(checkpoints: Checkpoints) -> None:
    assert checkpoints.all() == []


@pytest.mark.parametrize(
    "session",
    [
        "../../../etc/passwd",
        "/etc/passwd",
        "..",
        "",
        "C:\\Windows\\win.ini",
        "\\\\server\\share",
        "con",
        "AUX",
        "nul",
        "a\0b",
        "trailing.",
        "x" * 300,
        "\u202egnp.exe",
        "会话",
        "half \ud83d",
        "UPPER-AND-lower",
    ],
)
def test_a_session_is_kept_under_a_name_of_ours_whatever_it_calls_itself(
    checkpoints: Checkpoints, project: Path, session: str
) -> None:
    one = replace(CHECKPOINT, session=session)

    checkpoints.keep(one)

    (path,) = (project / "carryover.sessions").iterdir()
    assert path.parent == checkpoints.folder
    assert path.name.removesuffix(".json").replace("-", "").isalnum()
    assert path.name.isascii()
    assert path.name == path.name.lower()
    assert len(path.name) < 70
    assert path.name.removesuffix(".json") not in ("con", "aux", "nul")
    assert checkpoints.all() == [one]
    assert checkpoints.drop(session)


def test_names_that_differ_in_case_only_are_two_sessions(checkpoints: Checkpoints) -> None:
    checkpoints.keep(replace(CHECKPOINT, session="abcdefgh"))
    checkpoints.keep(replace(CHECKPOINT, session="ABCDEFGH"))

    names = [path.name.casefold() for path in checkpoints.folder.iterdir()]
    assert len(set(names)) == 2


FIELDS = asdict(CHECKPOINT)
HOSTILE: dict[str, Any] = {
    "nothing": b"",
    "garbage": b"\xff\xfe\0",
    "a list": [],
    "a number": 7,
    "an empty object": {},
    "a field too few": {name: value for name, value in FIELDS.items() if name != "users"},
    "a field too many": {**FIELDS, "run": "rm -rf /"},
    "nested without end": b'{"owner":' + b"[" * 100_000,
    "too large": {**FIELDS, "file": "x" * 100_000},
    "a negative number": {**FIELDS, "since": -1},
    "a number that is none": {**FIELDS, "users": True},
    "a number beyond all files": {**FIELDS, "since": 2**63},
    "a list for a path": {**FIELDS, "file": ["/etc/passwd"]},
    "a list for a host": {**FIELDS, "host": ["pi"]},
    "a mode that is none": {**FIELDS, "mode": {"x": 1}},
    "another session's name": {**FIELDS, "session": "somebody-else"},
    "an owner that is none": {**FIELDS, "owner": "me"},
    "an owner beyond all processes": {**FIELDS, "owner": {"pid": 10**30, "started": "", "machine": ""}},
    "a negative owner": {**FIELDS, "owner": {"pid": -1, "started": "", "machine": ""}},
    "an owner without a time": {**FIELDS, "owner": {"pid": 1}},
    "an owner of infinite id": b'{"owner":{"pid":1e999,"started":"","machine":""}}',
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_file_that_is_no_checkpoint_says_nothing_about_anybody(checkpoints: Checkpoints, what: str) -> None:
    good = replace(CHECKPOINT, session="good-session")
    checkpoints.keep(good)
    content = HOSTILE[what] if isinstance(HOSTILE[what], bytes) else json.dumps(HOSTILE[what]).encode()
    checkpoints.path(CHECKPOINT.session).write_bytes(content)

    assert checkpoints.all() == [good]


def folder(path: Path, elsewhere: Path) -> None:
    path.mkdir()


def link(path: Path, elsewhere: Path) -> None:
    elsewhere.write_text(json.dumps(FIELDS), encoding="utf-8")
    path.symlink_to(elsewhere)


def loop(path: Path, elsewhere: Path) -> None:
    path.symlink_to(path)


def pipe(path: Path, elsewhere: Path) -> None:
    os.mkfifo(path)


@posix
@pytest.mark.parametrize("put", [folder, link, loop, pipe])
def test_what_is_no_file_is_no_checkpoint(
    checkpoints: Checkpoints, tmp_path: Path, put: Callable[[Path, Path], None]
) -> None:
    good = replace(CHECKPOINT, session="good-session")
    checkpoints.keep(good)
    put(checkpoints.path(CHECKPOINT.session), tmp_path / "elsewhere.json")

    assert checkpoints.all() == [good]


@posix
def test_a_linked_folder_is_neither_read_nor_written_nor_emptied(checkpoints: Checkpoints, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    other = Checkpoints(tmp_path / "other", SYSTEM, KEY)
    other.keep(CHECKPOINT)
    checkpoints.folder.symlink_to(other.folder)

    for attempt in (
        checkpoints.all,
        lambda: checkpoints.keep(CHECKPOINT),
        lambda: checkpoints.drop(CHECKPOINT.session),
    ):
        with pytest.raises(StoreUnavailable, match=r"carryover\.sessions is a link"):
            attempt()

    assert other.all() == [CHECKPOINT]


@posix
def test_a_folder_that_cannot_be_read_is_said_to_be_so(
    checkpoints: Checkpoints, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoints.keep(CHECKPOINT)

    def refuse(path: Path) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "iterdir", refuse)

    with pytest.raises(StoreUnavailable, match=r"cannot read .*carryover\.sessions: Permission denied"):
        checkpoints.all()


def test_drafts_of_killed_processes_are_taken_away(checkpoints: Checkpoints) -> None:
    checkpoints.keep(CHECKPOINT)
    old, young = (checkpoints.folder / f".carryover.{name}.tmp" for name in ("old", "young"))
    for path in (old, young):
        path.touch()
    os.utime(old, (0, 0))

    checkpoints.keep(CHECKPOINT)

    assert young.exists()
    assert not old.exists()
