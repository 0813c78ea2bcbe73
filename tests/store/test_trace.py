from __future__ import annotations

import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest

from carryover.store import trace
from carryover.store.files import SYSTEM
from carryover.store.pointer import read_pointer, write_pointer


def deliver(folder: Path, session: str = "s1") -> None:
    at = datetime(2026, 11, 30, 9, tzinfo=UTC)
    trace.delivered(SYSTEM, folder, at=at, session=session, ids=["01JD"], tokens=60, fingerprint="0123abcd")


def test_what_was_delivered_is_remembered_in_its_order(project: Path) -> None:
    deliver(project, "s1")
    deliver(project, "s2")

    assert trace.deliveries(project) == [
        {"at": "2026-11-30T09:00:00+00:00", "session": name, "ids": ["01JD"], "tokens": 60, "fingerprint": "0123abcd"}
        for name in ("s1", "s2")
    ]


def test_the_trace_is_bounded_and_keeps_what_is_new(project: Path) -> None:
    for number in range(1500):
        deliver(project, f"s{number}")

    assert (project / trace.NAME).stat().st_size < trace.LARGEST + 1000
    assert trace.deliveries(project)[-1]["session"] == "s1499"
    assert len(trace.deliveries(project)) > 100


@pytest.mark.parametrize("rest", [b"garbage\n", b"\xff\n", b"[1]\n", b"[" * 100_000 + b"\n", b"\0" * 90_000])
def test_a_spoilt_trace_goes_on(project: Path, rest: bytes) -> None:
    (project / trace.NAME).write_bytes(rest)

    deliver(project)

    assert trace.deliveries(project)[-1]["session"] == "s1"


@pytest.mark.skipif(sys.platform == "win32", reason="links need no rights there")
def test_nothing_is_written_through_a_link(project: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("mine", encoding="utf-8")
    for name in (trace.NAME, ".carryover-session"):
        (project / name).symlink_to(elsewhere)

    deliver(project)
    write_pointer(SYSTEM, project, "/sessions/a.jsonl")

    assert elsewhere.read_text(encoding="utf-8") == "mine"
    assert read_pointer(project) == ""


def test_where_no_trace_can_be_kept_nothing_is_said(project: Path) -> None:
    (project / trace.NAME).mkdir()

    deliver(project)

    assert (project / trace.NAME).is_dir()


# ---------------------------------------------------------------- the last session


def test_the_last_session_is_one_line_as_pi_carryover_has_it(project: Path) -> None:
    write_pointer(SYSTEM, project, "/sessions/会话 a.jsonl")

    assert (project / ".carryover-session").read_bytes() == "/sessions/会话 a.jsonl\n".encode()
    assert read_pointer(project) == "/sessions/会话 a.jsonl"


@pytest.mark.parametrize(
    ("content", "path"),
    [
        (b"/a/b.jsonl", "/a/b.jsonl"),
        (b"  /a/b.jsonl \r\n/c\n", "/a/b.jsonl"),
        (b"", ""),
        (b"\n\n", ""),
        (b"\xff/a\n", "\ufffd/a"),
    ],
)
def test_a_pointer_is_its_first_line(project: Path, content: bytes, path: str) -> None:
    (project / ".carryover-session").write_bytes(content)

    assert read_pointer(project) == path


def test_no_pointer_is_no_session(project: Path) -> None:
    assert read_pointer(project) == ""
