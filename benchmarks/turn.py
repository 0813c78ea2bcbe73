"""What carryover adds to a turn of pi: the round trip to the child before the model is asked.

The peer is a process that answers any line at once, with the same pi around it or with none. What follows a turn is
told without waiting for it.
"""

from __future__ import annotations

import os
import sys
from functools import partial
from pathlib import Path

from _child import ECHO, Child
from _measure import Sample, Table, benchmark, duration, in_turns, timed
from _scene import NOTE, Scene
from _session import header, lines

#: Seconds that may be added to a turn, for 95 turns of 100.
BOUND = 0.005


def main() -> None:
    with benchmark(__doc__, rounds=300) as (table, options):
        scene = Scene(options.folder)
        root = scene.project("project")
        scene.record(root, 200)
        scene.save(root)
        file = options.folder / "session.jsonl"
        file.write_bytes(header())
        child, echo = Child(scene.environ, root), Child(scene.environ, root, [sys.executable, "-I", "-S", "-c", ECHO])
        first = timed(partial(child.start, root, file=file)), timed(partial(child.ask, "prompt", text="where were we?"))
        prompt, settled, bare = in_turns(
            options.rounds,
            partial(timed, partial(child.ask, "prompt", text="what is next after the migration?")),
            partial(settle, child, file),
            partial(timed, partial(echo.ask, "prompt", text="what is next after the migration?")),
        )
        child.close()
        echo.close()
        add(table, "asked before a turn, the child alone", prompt, "an echo", bare)
        add(table, "told after a turn (nobody waits)", settled, "an echo", bare, bounded=False)
        table.add("once: start, then the first prompt", f"{duration(first[0])}, then {duration(first[1])}")
        if os.environ.get("CARRYOVER_PI_HOSTS"):
            real(table, options.folder, min(options.rounds, 60))
        else:
            table.notes.append(
                "Without a real pi: `make hosts`, or CARRYOVER_PI_HOSTS, adds the turns of both versions."
            )


def add(table: Table, what: str, ours: Sample, name: str, beside: Sample, *, bounded: bool = True) -> None:
    table.add(
        what,
        f"{ours}, p95 {duration(ours.p95)}",
        f"{name}: {beside}, p95 {duration(beside.p95)}",
        figure=f"p95 {duration(ours.p95)}",
        bound=f"≤ {duration(BOUND)}" if bounded else "",
        holds=ours.p95 <= BOUND if bounded else None,
    )


def settle(child: Child, file: Path) -> float:
    """A turn was written to the session's file, and has settled."""
    with file.open("ab") as session:
        session.write(lines(10_000))
    return timed(partial(child.ask, "settled", file=str(file)))


def real(table: Table, folder: Path, rounds: int) -> None:
    from _pi import hosts, turns

    for host in hosts():
        ours, echo, _ = turns(host, folder, rounds, NOTE)
        add(table, f"added to a turn of pi {host.version}", ours, "an echo", echo)


if __name__ == "__main__":
    main()
