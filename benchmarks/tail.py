"""Whether the end of a 1 GB session costs more to read than that of a 1 MB one.

Both files end in the same megabyte; what lies before it differs. The limits are those with which sessions are saved.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from _measure import benchmark, in_turns, timed
from _session import header, lines
from carryover.session.saver import MESSAGES, USERS
from carryover.session.transcripts import pi

MEGABYTE, GIGABYTE = 1_000_000, 1_000_000_000


def main() -> None:
    with benchmark(__doc__, rounds=60) as (table, options):
        small, large = options.folder / "1mb.jsonl", options.folder / "1gb.jsonl"
        end = lines(MEGABYTE)
        small.write_bytes(header() + end)
        repeat(large, header(), end, GIGABYTE)
        for what, limit in (("tail for the raw tier", 4 * USERS), ("tail for a summary", MESSAGES)):
            sides = [partial(timed, partial(pi.tail, path, limit_messages=limit)) for path in (large, small)]
            table.ratio(f"{what}, {limit} messages", in_turns(options.rounds, *sides), "of the 1 MB file", 1.5)
        summary = partial(timed, partial(pi.tail, large, limit_messages=MESSAGES))
        bare = partial(timed, partial(parse_all, small))
        table.ratio("the latter", in_turns(options.rounds, summary, bare), "json.loads of the 1 MB")
        since = large.stat().st_size - 20_000
        counting = partial(timed, partial(pi.count, large, since))
        last = partial(timed, partial(parse_end, large, since))
        table.ratio("counting the 20 KB of one turn", in_turns(options.rounds, counting, last), "json.loads of it")
        sizes = " and ".join(f"{path.stat().st_size / 1e6:,.0f} MB" for path in (small, large))
        table.notes.append(f"Files of {sizes}, {len(end.splitlines())} lines in the last one; in the system's cache.")


def parse_all(path: Path) -> None:
    for line in path.read_bytes().splitlines():
        json.loads(line)


def parse_end(path: Path, since: int) -> None:
    with path.open("rb") as file:
        file.seek(since)
        for line in file.read().splitlines()[1:]:
            json.loads(line)


def repeat(path: Path, start: bytes, block: bytes, size: int) -> None:
    """A file of about *size* bytes: the end of it is one branch, as long as anybody reads back."""
    with path.open("wb") as file:
        file.write(start)
        for _ in range(size // len(block)):
            file.write(block)


if __name__ == "__main__":
    main()
