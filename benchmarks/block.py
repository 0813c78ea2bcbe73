"""What the block costs with 10 000 notes on record, cold and from a snapshot, beside the parsing alone.

Each round is what a fresh process does: nothing is known yet. Cold means without a snapshot, and includes writing one.
"""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path

from _measure import Sample, Table, benchmark, duration, in_turns, timed
from _scene import Scene
from carryover.memory.brief import Request, brief

NOTES = 10_000
#: Of the bound for the block from a snapshot: a factor on reading and parsing it, and seconds on top.
FACTOR, ALLOWANCE = 1.5, 0.005


def main() -> None:
    with benchmark(__doc__, rounds=15) as (table, options):
        scene = Scene(options.folder)
        root = scene.project("project")
        scene.record(root, NOTES)
        log = scene.store(root).log
        lines = [line for path in log.folder.glob("carryover*.log") for line in path.read_bytes().splitlines()]
        cold, bare = partial(cold_block, scene, root), partial(timed, partial(parse, lines))
        sides = in_turns(options.rounds, cold, bare)
        table.ratio(f"block from {len(lines):,} notes, cold", sides, "json.loads of the lines", 3)

        snapshot = snapshot_of(scene, root)
        scene.store(root).known()
        warm, parsing = in_turns(
            4 * options.rounds, partial(timed, partial(block, scene, root)), partial(timed, partial(load, snapshot))
        )
        row(table, warm, parsing)
        size = sum(map(len, lines)) / 1e6
        table.notes.append(f"The log has {size:.1f} MB, the snapshot {snapshot.stat().st_size:,} bytes.")


def row(table: Table, warm: Sample, parsing: Sample) -> None:
    limit = FACTOR * parsing.median + ALLOWANCE
    table.add(
        "the same, from a snapshot",
        str(warm),
        f"reading and parsing it: {parsing}",
        figure=f"{duration(warm.median)}",
        bound=f"≤ {FACTOR:g} × + {duration(ALLOWANCE)} = {duration(limit)}",
        holds=warm.median <= limit,
    )


def block(scene: Scene, root: Path) -> str:
    state, _ = scene.store(root).delivered()
    return brief(state, Request(project=root.name)).text


def cold_block(scene: Scene, root: Path) -> float:
    snapshot_of(scene, root).unlink(missing_ok=True)
    return timed(partial(block, scene, root))


def parse(lines: list[bytes]) -> None:
    for line in lines:
        json.loads(line)


def load(snapshot: Path) -> None:
    content = snapshot.read_bytes()
    json.loads(content[content.index(b"{") :])


def snapshot_of(scene: Scene, root: Path) -> Path:
    path = scene.store(root).snapshot_path
    assert path is not None
    return path


if __name__ == "__main__":
    main()
