"""What the benchmarks share: two sides timed in turns, in a folder on a real disk, and one table of what came out.

Figures are ratios of medians, both sides measured in the same run and in turns (A B A B …), so that a busy or slow
machine weighs on both alike. The least and the most of each side stand beside its median: where they lie far apart,
the machine was busy.
"""

from __future__ import annotations

import argparse
import math
import os
import platform
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parent.parent
#: File systems that keep nothing on a disk: there a sync costs nothing, and every ratio would be flattering.
IN_MEMORY = ("tmpfs", "ramfs", "hugetlbfs")


@dataclass(frozen=True, slots=True)
class Sample:
    """How long one side took, in seconds, once for each round."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    @property
    def p95(self) -> float:
        return sorted(self.seconds)[math.ceil(0.95 * len(self.seconds)) - 1]

    def __str__(self) -> str:
        return f"{duration(self.median)} ({duration(min(self.seconds))}–{duration(max(self.seconds))})"


def duration(seconds: float) -> str:
    if seconds >= 1:
        return f"{seconds:.2f} s"
    return f"{seconds * 1e3:.1f} ms" if seconds >= 1e-3 else f"{seconds * 1e6:.0f} µs"


def timed(act: Callable[[], object]) -> float:
    """The seconds that *act* takes."""
    start = time.perf_counter()
    act()
    return time.perf_counter() - start


def in_turns(rounds: int, *sides: Callable[[], float]) -> list[Sample]:
    """Measure the sides in turns; each returns its own seconds. A first round warms up and is not counted."""
    measured = [[side() for side in sides] for _ in range(rounds + 1)]
    return [Sample(column) for column in zip(*measured[1:], strict=True)]


# ---------------------------------------------------------------- the table


@dataclass(frozen=True, slots=True)
class Row:
    what: str
    ours: str
    beside: str = ""
    figure: str = ""
    bound: str = ""
    #: None where nothing is promised.
    holds: bool | None = None

    @property
    def verdict(self) -> str:
        return {None: "", True: "holds", False: "MISSED"}[self.holds]

    def cells(self) -> tuple[str, ...]:
        return self.what, self.ours, self.beside, self.figure, self.bound, self.verdict


HEAD = Row("", "carryover", "beside it", "figure", "bound").cells()


@dataclass(slots=True)
class Table:
    """One question's answers."""

    title: str
    rows: list[Row] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    head: tuple[str, ...] = HEAD

    def add(
        self, what: str, ours: str, beside: str = "", *, figure: str = "", bound: str = "", holds: bool | None = None
    ) -> None:
        self.rows.append(Row(what, ours, beside, figure, bound, holds))

    def ratio(self, what: str, sides: Sequence[Sample], name: str, bound: float | None = None) -> None:
        """A row that says how many times as long the first of two *sides* takes as the second, which is *name*."""
        ours, beside = sides
        ratio = ours.median / beside.median
        limit, holds = ("", None) if bound is None else (f"≤ {bound:g}", ratio <= bound)
        self.add(what, str(ours), f"{name}: {beside}", figure=f"{ratio:.2f} ×", bound=limit, holds=holds)

    @property
    def missed(self) -> list[Row]:
        return [row for row in self.rows if row.holds is False]

    def markdown(self) -> str:
        """The table alone, aligned, so that it reads in a terminal as it stands."""
        columns = [index for index in range(len(self.head)) if any(row.cells()[index] for row in self.rows)]
        lines = [[cells[index] for index in columns] for cells in (self.head, *(row.cells() for row in self.rows))]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        lines.insert(1, ["-" * width for width in widths])
        return "\n".join("| " + " | ".join(map(str.ljust, line, widths)) + " |" for line in lines)

    def text(self) -> str:
        return "\n".join((f"## {self.title}", "", self.markdown(), "", *(f"{note}  " for note in self.notes)))


# ---------------------------------------------------------------- the script


@dataclass(frozen=True, slots=True)
class Options:
    """What a benchmark was told: where to work, and how often to measure."""

    folder: Path
    rounds: int


@contextmanager
def benchmark(about: str | None, rounds: int) -> Iterator[tuple[Table, Options]]:
    """Run one benchmark from its command line: make its folder and take it away, print its table, exit 1 on a miss."""
    summary = (about or "").partition("\n")[0].rstrip(".")
    parser = argparse.ArgumentParser(description=summary)
    parser.add_argument("--folder", type=Path, default=CHECKOUT / ".build" / "bench", help="a folder on a real disk")
    parser.add_argument("--rounds", type=int, default=rounds, help=f"how often each side is measured ({rounds})")
    parser.add_argument("--check", action="store_true", help="exit 1 when a bound is missed")
    parser.add_argument("--markdown", action="store_true", help="print the table alone, for a document")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    kind = file_system(options.folder)
    if kind in IN_MEMORY:
        parser.error(f"{options.folder} is on {kind}, where nothing reaches a disk; name another with --folder")
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=options.folder)).resolve()
    table = Table(summary)
    try:
        yield table, Options(folder, options.rounds)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    table.notes.append(f"{_machine()}; {kind or 'unknown file system'}.")
    print(table.markdown() if options.markdown else table.text(), end="\n\n", flush=True)
    if options.check and table.missed:
        sys.exit(1)


def _machine() -> str:
    python = f"{platform.python_implementation()} {platform.python_version()}"
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, {python}"


def file_system(folder: Path) -> str:
    """The type of the file system that *folder* is on; empty where the system does not say (only Linux does)."""
    try:
        mounts = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    places = {_unescaped(line.split()[1]): line.split()[2] for line in mounts.splitlines()}
    inside = [place for place in places if folder.resolve().is_relative_to(place)]
    return places[max(inside, key=len)] if inside else ""


def _unescaped(place: str) -> str:
    """Spaces, tabs, newlines and backslashes are written in octal there."""
    return place.encode().decode("unicode_escape") if "\\" in place else place
