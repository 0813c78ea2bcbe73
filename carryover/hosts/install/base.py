"""What registering with a host is: a plan that can be shown, and then carried out."""

from __future__ import annotations

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from carryover.errors import InstallError
from carryover.hosts.install import files


@dataclass(frozen=True, slots=True)
class Change:
    """One file, before and after; None is a file that does not exist."""

    path: Path
    before: bytes | None
    after: bytes | None
    #: What to do by hand when it cannot be done here.
    by_hand: str = ""
    #: Is the file ours alone? The host locks its own while it writes them, and so do we.
    private: bool = False

    def diff(self) -> str:
        """The change as a unified diff."""
        before, after = (_lines(data) for data in (self.before, self.after))
        return "".join(difflib.unified_diff(before, after, str(self.path), str(self.path)))

    def apply(self) -> None:
        """Write it. Raises InstallError when it cannot be, or the file is no longer as it was planned for."""
        try:
            if self.private:
                files.write(self.path, self.after, mode=0o600)
                return
            with files.host_lock(self.path):
                if files.read(self.path) != self.before:
                    raise InstallError(f"cannot change {self.path}: it has changed meanwhile; run this again")
                files.write(self.path, self.after)
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise InstallError(f"cannot write {self.path}: {reason}; {self.by_hand}".rstrip("; ")) from error


@dataclass(frozen=True, slots=True)
class Plan:
    """What installing or uninstalling would change, in order. Nothing, if it is already so."""

    host: str
    changes: tuple[Change, ...]
    #: Sentences that the user should read.
    notes: tuple[str, ...] = ()

    def diff(self) -> str:
        return "".join(change.diff() for change in self.changes)

    def apply(self) -> None:
        """Carry it out. Raises InstallError; what was changed before the failing file does no harm."""
        for change in self.changes:
            change.apply()


class Host(Protocol):
    """A host that carryover can be registered with. Raises InstallError, which says what to do by hand."""

    @property
    def name(self) -> str: ...

    def install(self, environ: Mapping[str, str]) -> Plan: ...

    def uninstall(self, environ: Mapping[str, str]) -> Plan: ...


def _lines(data: bytes | None) -> list[str]:
    lines = re.findall(r"[^\n]*\n|[^\n]+", (data or b"").decode("utf-8", "replace"))
    return [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]
