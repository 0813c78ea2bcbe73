"""A machine of its own for a benchmark: a home, its caches, and projects with as much on record as is wanted."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from carryover import project as projects
from carryover import settings as configuration
from carryover.session import notes
from carryover.session.notes import Author
from carryover.store.codec import encode, next_id
from carryover.store.files import SYSTEM, FileSystem
from carryover.store.log import ROTATE_AT
from carryover.store.store import Store

NOTE = """\
## In progress
- [ ] Move the retry queue from `jobs/queue.py` to the scheduler; the tests in `tests/test_queue.py` are half ported
- [ ] `test_retry_after_restart` still fails: the scheduler forgets the attempt count when it reloads
  - tried: storing it in the job row; lost again because `reload()` builds the row from the payload
- [ ] Ask Mei whether old jobs may be dropped or must be migrated (she is back on Thursday)

## Decided
- The scheduler owns retries, not the worker: a worker that is killed cannot count its own attempts
- At most five attempts, then the job goes to `dead_jobs`, which the admin page already shows
- No new dependency: `heapq` does what we need, `sortedcontainers` did not make it faster

## Next
- [ ] Port the three remaining tests, then delete `jobs/queue.py`
- [ ] Write the migration, and run it against the copy of the production database
- [ ] Tell the on-call channel before the deployment: retries pause for a minute
"""

NOTE_IN_CHINESE = """\
## 进行中
- [ ] 把重试队列从 `jobs/queue.py` 移到调度器；`tests/test_queue.py` 里的测试移了一半
- [ ] `test_retry_after_restart` 仍然失败：调度器重新加载后忘记了已重试的次数
  - 试过：存进任务行；又丢了，因为 `reload()` 是用载荷重建这一行的
- [ ] 问梅姐旧任务可以丢弃，还是必须迁移（她星期四回来）

## 已决定
- 重试归调度器管，不归工作进程：被杀掉的进程数不了自己的次数
- 最多重试五次，之后任务进入 `dead_jobs`，管理页面已经能显示
- 不加新依赖：`heapq` 够用，`sortedcontainers` 并没有更快

## 下一步
- [ ] 移完剩下的三个测试，然后删除 `jobs/queue.py`
- [ ] 写迁移脚本，并在生产数据库的副本上运行
- [ ] 部署之前通知值班群：重试会暂停一分钟
"""


class Scene:
    """Everything lies below one folder, and nothing of the person who runs the benchmark is read or written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        home = folder / "home"
        home.mkdir()
        kept = {name: value for name, value in os.environ.items() if name in ("PATH", "SYSTEMROOT", "TMPDIR", "TEMP")}
        self.environ = kept | {
            "HOME": str(home),
            "USERPROFILE": str(home),
            "LOCALAPPDATA": str(home / "AppData" / "Local"),
            "LANG": "C.UTF-8",
        }

    def project(self, name: str) -> Path:
        """A git repository's work tree, as far as anybody reads it."""
        root = self.folder / name
        for folder in ("objects", "refs"):
            (root / ".git" / folder).mkdir(parents=True)
        (root / ".git" / "HEAD").write_text("ref: refs/heads/main\n", encoding="utf-8")
        return root

    def store(self, root: Path, system: FileSystem = SYSTEM) -> Store:
        """A store as a fresh process has it: nothing read yet."""
        project = projects.find(root, self.environ)
        return Store(project, configuration.load(project.root, self.environ), self.environ, system)

    def record(self, root: Path, count: int) -> None:
        """Put *count* notes on record, in segments, as if that many saves had been made."""
        store = self.store(root)
        store.prepare()
        key, segment, size = store.key(), 1, 0
        lines: list[bytes] = []
        for event in events(count):
            if size >= ROTATE_AT:
                store.log.segment(segment).write_bytes(b"".join(lines))
                lines, segment, size = [], segment + 1, 0
            lines.append(encode(event, key))
            size += len(lines[-1])
        store.log.path.write_bytes(b"".join(lines))

    def save(self, root: Path) -> None:
        """One more save, by the product itself, so that view and snapshot are there."""
        store = self.store(root)
        store.known()
        with store.writing() as writer:
            notes.write(writer, NOTE, Author("agent", "agent", "pi", "a-session"))


def note(number: int, text: str = NOTE) -> str:
    """The note as it was at its *number*-th save: one item differs."""
    return f"{text}- [ ] attempt {number} of the migration\n"


def events(count: int) -> Iterator[dict[str, Any]]:
    """Saves of many sessions: every fifth left a raw tail, the others a note made from what stood before."""
    chance, last, base = random.Random(count), "", list[str]()
    for number in range(count):
        milliseconds = 1_780_000_000_000 + 60_000 * number
        last = next_id(last, milliseconds)
        session = f"{number // 7:08x}-0000-7000-8000-{chance.getrandbits(48):012x}"
        event = {"v": 1, "id": last, "at": f"2026-06-01T08:{number // 60 % 60:02}:{number % 60:02}.000+08:00"}
        event |= {"op": "note", "by": "agent", "host": "pi", "session": session, "tree": "", "branch": "main"}
        if number % 5 == 4:
            yield event | {"by": "hook", "source": "raw", "text": "- port the rest of the tests", "covers": [3, 12]}
            base = [*base, last]
        else:
            yield event | {"source": "agent", "base": base, "text": note(number)}
            base = [last]
