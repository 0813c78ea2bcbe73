"""Several processes and one store."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from carryover.errors import StoreUnavailable
from carryover.memory.events import Event
from carryover.memory.note import items
from carryover.store import files
from carryover.store.files import SYSTEM, FileSystem
from carryover.store.log import Log
from carryover.store.store import Store

Save = Callable[..., Event]
Stores = Callable[..., Store]

WRITERS, AT_ONCE = 8, 20

OPEN = """
import os, sys
from pathlib import Path
from carryover import settings
from carryover.project import Project
from carryover.store import log
from carryover.store.store import Store

root, me, count, at_once = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
log.ROTATE_AT = int(sys.argv[5])
project = Project(root, "folder", root / ".pi", root / ".pi", "", "main", None)
store = Store(project, settings.load(root, os.environ), os.environ)
print("ready", flush=True)
sys.stdin.readline()
"""
APPEND = """
for start in range(0, count, at_once):
    with store.writing() as writer:
        for number in range(start, start + at_once):
            writer.append("set", by="agent", session=me, rec=f"{me}-{number}", to="done")
"""
SAVE = """
for number in range(count):
    with store.writing() as writer:
        note = writer.state.note()
        text = (note.text + "\\n" if note else "") + f"- [ ] {me} {number}"
        writer.append("note", by="agent", source="agent", session=me, base=writer.base, text=text)
"""
HOLD = """
with store.writing() as writer:
    writer.append("note", by="agent", source="agent", base=[], text="- [ ] held")
    print("held", flush=True)
    sys.stdin.readline()
"""

GREEDY = """
import time
from carryover.store import files

while True:
    with files.locked(files.SYSTEM, root / "carryover.lock"), (root / "count").open("ab", buffering=0) as taken:
        taken.write(b".")
        until = time.monotonic() + 0.02
        while time.monotonic() < until:
            pass
"""


@contextmanager
def programs(script: str, root: Path, count: int, *arguments: int) -> Iterator[list[subprocess.Popen[str]]]:
    """Programs that have opened the store and wait for a line."""
    started = []
    try:
        for number in range(count):
            command = [sys.executable, "-c", OPEN + script, str(root), f"p{number}", *map(str, arguments)]
            started.append(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True))
        for one in started:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"
        yield started
    finally:
        for one in started:
            one.kill()
            one.communicate()


def go(one: subprocess.Popen[str]) -> None:
    assert one.stdin is not None
    one.stdin.write("go\n")
    one.stdin.flush()


@pytest.mark.parametrize(("appends", "rotate_at"), [(500, 900_000), (100, 20_000)], ids=["one segment", "rotating"])
def test_eight_writers_lose_nothing_and_a_reader_sees_no_torn_line(project: Path, appends: int, rotate_at: int) -> None:
    seen: Counter[str] = Counter()
    problems = []
    done = threading.Event()

    def poll() -> None:
        log, position = Log(project / ".pi"), None
        while True:
            last_look = done.is_set()
            reading = log.read(position)
            position = reading.position
            seen.update(event.get("rec") for event in reading.events)
            problems.extend(reading.damage)
            if last_look:
                return

    reader = threading.Thread(target=poll)
    with programs(APPEND, project, WRITERS, appends, AT_ONCE, rotate_at) as writers:
        reader.start()
        for one in writers:
            go(one)
        codes = [one.wait(120) for one in writers]
        done.set()
        reader.join()

    expected = Counter(f"p{writer}-{number}" for writer in range(WRITERS) for number in range(appends))
    reading = Log(project / ".pi").read()
    ids = [event.id for event in reading.events]
    assert codes == [0] * WRITERS
    assert Counter(event.get("rec") for event in reading.events) == expected
    assert ids == sorted(set(ids))
    assert reading.damaged == 0
    assert seen == expected
    assert problems == []


def test_saves_of_several_sessions_at_once_all_stand(project: Path, stores: Stores) -> None:
    with programs(SAVE, project, 4, 10, 1, 900_000) as writers:
        for one in writers:
            go(one)
        codes = [one.wait(60) for one in writers]

    note = stores().known().state.note()
    assert codes == [0] * 4
    assert note is not None
    assert {item.text for item in items(note.text)} == {
        f"p{writer} {number}" for writer in range(4) for number in range(10)
    }
    view = stores().view_path.read_text(encoding="utf-8")
    assert all(f"p{writer} {number}\n" in view for writer in range(4) for number in range(10))


def test_two_sessions_that_were_shown_the_same_and_save_at_once_both_stand(stores: Stores, save: Save) -> None:
    """Neither knew of the other's save: its note names what it was shown."""
    first = save(stores(), "- [ ] shared")

    for text in ("- [ ] shared\n- [ ] one", "- [ ] shared\n- [ ] two"):
        with stores().writing() as writer:
            writer.append("note", by="agent", source="agent", base=[first.id], text=text)
    with stores().writing():
        pass

    note = stores().known().state.note()
    assert note is not None
    assert {item.text for item in items(note.text)} == {"shared", "one", "two"}
    assert "- [ ] one" in stores().view_path.read_text(encoding="utf-8")
    assert "- [ ] two" in stores().view_path.read_text(encoding="utf-8")


# ---------------------------------------------------------------- the lock


def test_who_waits_too_long_for_the_lock_is_told_so(project: Path, tmp_path: Path) -> None:
    lock = tmp_path / "carryover.lock"

    with (
        files.locked(SYSTEM, lock),
        pytest.raises(StoreUnavailable) as caught,
        files.locked(SYSTEM, lock, seconds=0.05),
    ):
        pass

    assert str(caught.value) == (
        f"cannot lock {lock}: another process has held it for 0.05 seconds; try again when it is done"
    )


def test_who_waits_for_the_lock_gets_it(tmp_path: Path) -> None:
    lock = tmp_path / "carryover.lock"
    order = []

    def wait() -> None:
        with files.locked(SYSTEM, lock):
            order.append("second")

    thread = threading.Thread(target=wait)
    with files.locked(SYSTEM, lock):
        thread.start()
        order.append("first")
    thread.join()

    assert order == ["first", "second"]


def test_who_takes_the_lock_again_and_again_shuts_nobody_out(project: Path) -> None:
    lock, count = project / "carryover.lock", project / "count"
    count.touch()
    waited = []

    with programs(GREEDY, project, 1, 1, 1, 900_000) as (greedy,):
        go(greedy)
        for _ in range(5):
            before = after = count.stat().st_size
            while after == before:  # until it has the lock again
                after = count.stat().st_size
            before = after
            with files.locked(SYSTEM, lock):
                waited.append(count.stat().st_size - before)

    assert sorted(waited)[2] <= 3


def test_a_reader_needs_no_lock(project: Path, stores: Stores, save: Save) -> None:
    with programs(HOLD, project, 1, 1, 1, 900_000) as (holder,):
        go(holder)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"

        note = stores().known().state.note()

    assert note is not None
    assert note.text == "- [ ] held"


def test_the_lock_of_a_killed_process_is_free(project: Path, stores: Stores, save: Save) -> None:
    with programs(HOLD, project, 1, 1, 1, 900_000) as (holder,):
        go(holder)
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        holder.kill()
        holder.wait()

        started = time.monotonic()
        save(stores(), "- [ ] next")

    assert time.monotonic() - started < 5
    assert [event.text for event in stores().log.read().events] == ["- [ ] held", "- [ ] next"]


@pytest.mark.parametrize("content", [b"", b"4194304\n", b"\0" * 100])
def test_an_old_lock_file_holds_nobody_up(project: Path, stores: Stores, save: Save, content: bytes) -> None:
    (project / ".pi").mkdir()
    lock = project / ".pi" / "carryover.lock"
    lock.write_bytes(content)
    os.utime(lock, (0, 0))

    save(stores(), "- [ ] next")

    assert lock.read_bytes() == content


# ---------------------------------------------------------------- views and replaces


def test_a_reader_of_the_view_sees_whole_ones_only(project: Path, stores: Stores) -> None:
    torn = []
    done = threading.Event()
    view = stores().view_path

    def poll() -> None:
        while not done.is_set():
            try:
                text = view.read_text(encoding="utf-8")
            except FileNotFoundError:
                continue
            if not text.endswith("edits are merged -->\n"):
                torn.append(text)

    reader = threading.Thread(target=poll)
    with programs(SAVE, project, 2, 15, 1, 900_000) as writers:
        reader.start()
        for one in writers:
            go(one)
        codes = [one.wait(60) for one in writers]
        done.set()
        reader.join()

    assert codes == [0, 0]
    assert torn == []


def test_two_drafts_of_one_file_never_share_a_name(tmp_path: Path) -> None:
    names = set()

    class Watched(FileSystem):
        def replace(self, source: Path, target: Path) -> None:
            names.add(source.name)
            super().replace(source, target)

    for number in range(50):
        files.replace(Watched(), tmp_path / "file", str(number).encode(), durable=False)

    assert len(names) == 50
