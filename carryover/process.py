"""Which process is that, and does it still live?

A process id alone is no answer: ids are used again. An owner is an id, the time its process started, and the machine.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Owner:
    pid: int
    #: When it started, as the system words it; empty where the system does not say.
    started: str
    machine: str


def owner(pid: int) -> Owner:
    """Who process *pid* is at this moment."""
    return Owner(pid, _started(pid), _machine())


def lives(who: Owner) -> bool | None:
    """Whether that very process still runs; None for one on another machine, of which nobody here can tell."""
    if who.machine != _machine():
        return None
    if not _exists(who.pid):
        return False
    return not who.started or _started(who.pid) in ("", who.started)


def can_be(pid: int) -> bool:
    """Whether a process can have that id at all."""
    return 0 < pid < 2**31


def _machine() -> str:
    import platform

    return platform.node()


def _exists(pid: int) -> bool:
    if not can_be(pid):
        return False
    if sys.platform == "win32":
        return _windows_started(pid) != ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True  # somebody else's, but alive
    return not _zombie(pid)


def _zombie(pid: int) -> bool:
    return _linux_status(pid)[:1] == ["Z"]


def _started(pid: int) -> str:
    if sys.platform == "win32":
        return _windows_started(pid)
    if sys.platform == "linux":
        fields = _linux_status(pid)
        return f"{_boot()}/{fields[19]}" if len(fields) > 19 else ""
    return _ps_started(pid)


def _linux_status(pid: int) -> list[str]:
    """The fields of ``/proc/PID/stat`` after the name, which may itself hold spaces and brackets."""
    try:
        content = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return []
    return content.rpartition(")")[2].split()


def _boot() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()[:8]
    except OSError:
        return ""


def _ps_started(pid: int) -> str:
    import subprocess

    try:
        done = subprocess.run(
            ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, timeout=2, check=False, env={"LC_ALL": "C"}
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode("ascii", "replace").strip()


def _windows_started(pid: int) -> str:
    """The creation time of a process that still runs; empty for one that has ended."""
    if sys.platform != "win32":
        return ""
    import ctypes
    from ctypes import wintypes

    kernel = ctypes.windll.kernel32
    handle = kernel.OpenProcess(0x1000, False, pid)  # PROCESS_QUERY_LIMITED_INFORMATION
    if not handle:
        return ""
    try:
        code = wintypes.DWORD()
        times = [wintypes.FILETIME() for _ in range(4)]
        still_active = 259
        if not kernel.GetExitCodeProcess(handle, ctypes.byref(code)) or code.value != still_active:
            return ""
        kernel.GetProcessTimes(handle, *(ctypes.byref(time) for time in times))
        return str(times[0].dwHighDateTime << 32 | times[0].dwLowDateTime)
    finally:
        kernel.CloseHandle(handle)
