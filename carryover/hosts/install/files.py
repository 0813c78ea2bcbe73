"""Reading and replacing a file that belongs to somebody else."""

from __future__ import annotations

import os
import secrets
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

#: Bytes. A host's settings are a few kilobytes.
SIZE_LIMIT = 1_000_000

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)

#: Seconds. pi holds its lock for a few milliseconds, and takes one as old as this for left behind.
_LOCK_PATIENCE, _LOCK_STALE = 3.0, 10.0


def read(path: Path) -> bytes | None:
    """The bytes of a file, None if there is none. Raises OSError, or ValueError with a reason for people."""
    try:
        status = path.stat()
    except FileNotFoundError:
        if path.is_symlink():
            raise ValueError("it is a link that leads nowhere") from None
        return None
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is no regular file")
    if status.st_size > SIZE_LIMIT:
        raise ValueError(f"it is larger than {SIZE_LIMIT} bytes")
    return path.read_bytes()


def check_replaceable(path: Path) -> None:
    """Raise ValueError, with a reason for people, if replacing the file would change more than its text."""
    if not path.exists():
        return
    target = path.resolve()
    status = target.stat()
    if status.st_nlink > 1:
        raise ValueError("it has a second name (a hard link), which would keep the old text")
    if not status.st_mode & 0o222 or not os.access(target, os.W_OK) or not os.access(target.parent, os.W_OK):
        raise ValueError("it is read-only")


def write(path: Path, data: bytes | None, mode: int | None = None) -> None:
    """Replace the file at once or not at all; None removes it. A link stays a link: its target is replaced.

    The file keeps its mode and owner; a new one gets *mode*, or what the umask leaves. Raises OSError.
    """
    target = path.resolve()
    if data is None:
        target.unlink(missing_ok=True)
        return
    target.parent.mkdir(parents=True, exist_ok=True)
    sibling = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    descriptor = os.open(sibling, _CREATE, mode or 0o666)
    try:
        with open(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            _make_alike(sibling, target.stat())
        os.replace(sibling, target)
    except BaseException:
        sibling.unlink(missing_ok=True)
        raise
    _sync_folder(target.parent)


@contextmanager
def host_lock(path: Path) -> Iterator[None]:
    """Hold the lock that pi takes to write *path*: a folder beside it. Raises TimeoutError."""
    lock = path.with_name(f"{path.name}.lock")
    lock.parent.mkdir(parents=True, exist_ok=True)
    deadline = time.monotonic() + _LOCK_PATIENCE
    while not _take(lock):
        if time.monotonic() > deadline:
            raise TimeoutError(110, f"pi holds its lock {lock}")
        time.sleep(0.02)
    try:
        yield
    finally:
        lock.rmdir()


def _take(lock: Path) -> bool:
    try:
        lock.mkdir()
    except FileExistsError:
        try:
            if time.time() - lock.stat().st_mtime > _LOCK_STALE:
                lock.rmdir()
        except FileNotFoundError:
            pass  # it was released meanwhile
        return False
    return True


def _make_alike(sibling: Path, status: os.stat_result) -> None:
    if sys.platform != "win32":
        own = sibling.stat()
        if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
            os.chown(sibling, status.st_uid, status.st_gid)
    sibling.chmod(stat.S_IMODE(status.st_mode))


def _sync_folder(folder: Path) -> None:
    if sys.platform == "win32":
        return  # there is no such call; the rename is as durable as NTFS makes it
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
