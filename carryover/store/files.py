"""Files: append and sync, replace atomically, lock; never through a link.

Every system call of a save and of a rotation goes through one `FileSystem`. Tests put their own in its place, to kill
the process at each call and to replay what a power cut would have left.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from carryover.errors import StoreUnavailable

WINDOWS = sys.platform == "win32"
_NOFOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NONBLOCK = getattr(os, "O_NONBLOCK", 0)  # a pipe in a file's place must not hang us

#: Bytes.
READ_AT_ONCE = 64 * 1024
#: How the name of a file begins that is to take another's place.
DRAFT = ".carryover."
#: Seconds after which nobody is writing a draft any more.
DRAFT_SECONDS = 600
#: How often a replace is tried again while somebody holds the target open, which only Windows forbids.
REPLACE_TRIES = 10
#: Seconds to wait for the lock before saying that it cannot be had.
LOCK_SECONDS = 10.0


class FileSystem:
    """The system calls, one method each."""

    #: Whether a refused replace may be a passing thing, as it is on Windows while somebody has the target open.
    patient = WINDOWS

    def open(self, path: Path, flags: int, mode: int = 0o600) -> int:
        """Open for writing; never through a link, and without waiting for the reader of a pipe."""
        return _open(path, flags, mode)

    def write(self, descriptor: int, data: bytes) -> int:
        return os.write(descriptor, data)

    def truncate(self, descriptor: int, size: int) -> None:
        os.ftruncate(descriptor, size)

    def sync(self, descriptor: int) -> None:
        os.fsync(descriptor)

    def close(self, descriptor: int) -> None:
        os.close(descriptor)

    def replace(self, source: Path, target: Path) -> None:
        os.replace(source, target)

    def unlink(self, path: Path) -> None:
        path.unlink()

    def make_folder(self, path: Path) -> None:
        path.mkdir()

    def allow(self, descriptor: int, mode: int) -> None:
        """Give a file the mode that another one had, whatever the umask says. Windows keeps no such mode."""
        if sys.platform != "win32":
            os.fchmod(descriptor, mode)

    def sync_folder(self, path: Path) -> None:
        """Make names in a folder durable. Windows has no such call, and needs none."""
        if WINDOWS:
            return
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # some network file systems sync no folders
                raise
        finally:
            os.close(descriptor)

    def try_lock(self, descriptor: int) -> bool:
        """Take the exclusive lock if nobody has it. The system gives it back when its holder dies."""
        try:
            if sys.platform == "win32":
                import msvcrt

                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
                return False
            raise
        return True


SYSTEM = FileSystem()


@contextmanager
def locked(files: FileSystem, path: Path, seconds: float = LOCK_SECONDS) -> Iterator[None]:
    """
    Hold the lock file at *path*.

    Who waits for it holds a second lock, the next turn, for which everybody asks first. Otherwise one that lets go and
    takes again at once would shut out all the others.

    Raises:
        StoreUnavailable: others have held it for *seconds*, or the file system has no locks.
    """
    deadline = time.monotonic() + seconds
    descriptors = []
    try:
        for name in (path.with_name(f"{path.name}.next"), path):
            descriptors.append(files.open(name, os.O_RDWR | os.O_CREAT))
            while not _try_lock(files, descriptors[-1], path):
                if time.monotonic() > deadline:
                    reason = f"another process has held it for {seconds:g} seconds"
                    raise StoreUnavailable(f"cannot lock {path}: {reason}; try again when it is done")
                time.sleep(0.0005 + os.urandom(1)[0] / 100_000)  # never twice the same, so that nobody is always late
        files.close(descriptors.pop(0))
        yield
    finally:
        for descriptor in descriptors:
            files.close(descriptor)


def _try_lock(files: FileSystem, descriptor: int, path: Path) -> bool:
    try:
        return files.try_lock(descriptor)
    except OSError as error:
        raise StoreUnavailable(f"cannot lock {path}: {error.strerror}; this file system may have no locks") from error


def write_whole(files: FileSystem, descriptor: int, data: bytes) -> None:
    """Write all of *data*; a short write is gone on with, as a full disk reports itself only on the next one."""
    view = memoryview(data)
    while view:
        view = view[files.write(descriptor, bytes(view)) :]


def append(files: FileSystem, path: Path, data: bytes) -> None:
    """
    Append *data* and sync it.

    What does not fit is taken back, so that a full disk leaves no half line behind.
    """
    descriptor = files.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    try:
        status = os.fstat(descriptor)
        refuse_unless_regular(path, status)
        if status.st_size == 0:
            files.sync_folder(path.parent)  # before its first byte: whoever finds content finds a durable name
        try:
            write_whole(files, descriptor, data)
            files.sync(descriptor)
        except OSError:
            with suppress(OSError):  # the first error is the one to tell
                files.truncate(descriptor, status.st_size)
            raise
    finally:
        files.close(descriptor)


def replace(
    files: FileSystem,
    path: Path,
    data: bytes,
    *,
    mode: int = 0o600,
    durable: bool = True,
    unless: Callable[[], bool] | None = None,
) -> bool:
    """
    Put *data* in the place of the file at *path*: whole or not at all, with the mode of the file it replaces.

    *unless* is asked directly before the file would be replaced; when it says yes, nothing is, and False is returned.
    """
    kept = None
    with suppress(FileNotFoundError):
        status = os.lstat(path)
        refuse_unless_regular(path, status)
        kept = stat.S_IMODE(status.st_mode)
    draft = path.with_name(f"{DRAFT}{os.urandom(6).hex()}.tmp")
    try:
        descriptor = files.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
        try:
            if kept is not None:
                files.allow(descriptor, kept)
            write_whole(files, descriptor, data)
            if durable:
                files.sync(descriptor)
        finally:
            files.close(descriptor)
        if unless is not None and unless():
            files.unlink(draft)
            return False
        _replace_with_patience(files, draft, path)
    except OSError:
        with suppress(OSError):
            files.unlink(draft)
        raise
    if durable:
        files.sync_folder(path.parent)
    return True


def _replace_with_patience(files: FileSystem, source: Path, target: Path) -> None:
    for attempt in range(REPLACE_TRIES):
        try:
            files.replace(source, target)
        except PermissionError:  # an editor or a virus scanner has the target open for a moment
            if attempt + 1 == REPLACE_TRIES or not files.patient:
                raise
            time.sleep(min(0.005 * 2**attempt, 0.1))
        else:
            return


def read(path: Path, limit: int, offset: int = 0) -> bytes | None:
    """
    Up to *limit* bytes from *offset*; None when there is no such file.

    Raises:
        StoreUnavailable: it is a link, or no regular file.
        OSError: it cannot be read.
    """
    try:
        descriptor = _open(path, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        refuse_unless_regular(path, os.fstat(descriptor))
        os.lseek(descriptor, offset, os.SEEK_SET)
        return _read(descriptor, limit)
    finally:
        os.close(descriptor)


def _read(descriptor: int, limit: int) -> bytes:
    """Read to the end, or up to *limit* bytes. A file object around the ten small reads of a save would double them."""
    pieces: list[bytes] = []
    left = limit
    while left and (piece := os.read(descriptor, READ_AT_ONCE if left < 0 else min(left, READ_AT_ONCE))):
        pieces.append(piece)
        left -= len(piece) if limit >= 0 else 0
    return b"".join(pieces)


def make_folder(files: FileSystem, path: Path, *, durable: bool = True) -> None:
    """
    Make a folder of ours, and those that it lies in; one that is a link to elsewhere is refused.

    A folder's name is synced before anything is put into it. So one that is empty may be of a process that was killed
    before it did so, and one that is not empty is safe.
    """
    try:
        refuse_unless_folder(path)
    except FileNotFoundError:
        if not path.parent.is_dir():
            make_folder(files, path.parent, durable=durable)
        with suppress(FileExistsError):  # another process was faster
            files.make_folder(path)
    if durable and _is_empty(path):
        files.sync_folder(path.parent)


def _is_empty(folder: Path) -> bool:
    with os.scandir(folder) as entries:
        return next(entries, None) is None


def sweep(files: FileSystem, folder: Path) -> None:
    """Take away the drafts of processes that were killed; a young one may be in use."""
    with suppress(OSError):  # it is only tidying
        for name in os.listdir(folder):  # noqa: PTH208 - each save looks, and few of the names become paths
            if not (name.startswith(DRAFT) and name.endswith(".tmp")):
                continue
            path = folder / name
            if time.time() - path.lstat().st_mtime > DRAFT_SECONDS:
                files.unlink(path)


def refuse_unless_folder(path: Path) -> None:
    """Raises `StoreUnavailable` for a link or a file, `FileNotFoundError` where there is nothing."""
    status = os.lstat(path)
    if stat.S_ISLNK(status.st_mode):
        raise StoreUnavailable(link_refused(path))
    if not stat.S_ISDIR(status.st_mode):
        raise StoreUnavailable(f"{path} is not a folder")


@contextmanager
def explained(action: str, path: Path) -> Iterator[None]:
    """Turn an error of the system into a `StoreUnavailable` that says what could not be done."""
    try:
        yield
    except OSError as error:
        raise StoreUnavailable(f"cannot {action} {path}: {error.strerror or error}") from error


def refuse_unless_regular(path: Path, status: os.stat_result) -> None:
    if stat.S_ISLNK(status.st_mode):
        raise StoreUnavailable(link_refused(path))
    if not stat.S_ISREG(status.st_mode):
        raise StoreUnavailable(f"{path} is not a regular file")


def link_refused(path: Path) -> str:
    return f"{path} is a link, and carryover writes through none; put a file of its own in its place"


def _open(path: Path, flags: int, mode: int = 0o600) -> int:
    """Open a file, and where it is not opened because it is a link, say so."""
    if not _NOFOLLOW and path.is_symlink():
        raise StoreUnavailable(link_refused(path))
    try:
        return os.open(path, flags | _NOFOLLOW | _BINARY | _NONBLOCK, mode)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK):  # FreeBSD says EMLINK
            raise StoreUnavailable(link_refused(path)) from error
        raise
