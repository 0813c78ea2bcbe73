"""A real pi for a benchmark, where there is one: the tests' project, fake model and session, with two clocks in it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _measure import CHECKOUT, Sample

# Last, so that the package itself comes from where it is installed, as in the other benchmarks.
sys.path.append(str(CHECKOUT))

from tests.hosts.fake_model import FakeModel
from tests.hosts.place import EXTENSION, Host, Place
from tests.hosts.sessions import rpc

#: Where `make hosts` has each version of pi.
ENTRIES = {
    "0.73.1": "@mariozechner/pi-coding-agent/dist/cli.js",
    "1.6.0": "@earendil-works/pi-coding-agent/dist/bundle/cli.js",
}
#: Extensions that stand before and behind ours, so that pi asks them right before and right after it.
BEFORE = """\
export default (pi) => pi.on("before_agent_start", () => { globalThis.carryoverClock = performance.now() })
"""
BEHIND = """\
import { appendFileSync } from "node:fs"
export default (pi) => pi.on("before_agent_start", () => {
  appendFileSync(process.env.CARRYOVER_CLOCK, `${performance.now() - globalThis.carryoverClock}\\n`)
})
"""


def hosts() -> list[Host]:
    """The versions of pi below ``CARRYOVER_PI_HOSTS``; none where it names no folder."""
    folder = os.environ.get("CARRYOVER_PI_HOSTS")
    if not folder:
        return []
    found = [(version, Path(folder).resolve() / "node_modules" / entry) for version, entry in sorted(ENTRIES.items())]
    node = Path(folder).resolve() / "node22"
    return [Host(version, node, cli) for version, cli in found if cli.exists() and node.exists()]


@dataclass(slots=True)
class ClockedPlace(Place):
    """A place whose pi carries the two clocks, with our extension between them or without it."""

    with_us: bool = True

    def command(self, *arguments: str) -> list[str]:
        before, behind = self.root / "before.ts", self.root / "behind.ts"
        before.write_text(BEFORE, encoding="utf-8")
        behind.write_text(BEHIND, encoding="utf-8")
        ours = [EXTENSION] if self.with_us else []
        extensions = [word for one in (before, *ours, behind) for word in ("-e", str(one))]
        return [str(self.host.node), str(self.host.cli), *extensions, *arguments]


def turns(host: Host, folder: Path, rounds: int, note: str) -> tuple[Sample, Sample, list[dict[str, Any]]]:
    """
    How long `before_agent_start` takes in a real pi, with our extension and without it, prompt by prompt in turns; and
    the tools of a request with it, as the model was sent them.
    """
    with FakeModel() as model:
        ours = ClockedPlace(folder / f"with-{host.version}", host, model)
        bare = ClockedPlace(folder / f"without-{host.version}", host, model, with_us=False)
        for place in (ours, bare):
            place.extra["CARRYOVER_CLOCK"] = str(place.root / "clock")
            place.note.parent.mkdir()
            place.note.write_text(note, encoding="utf-8")
        with rpc(ours) as one, rpc(bare) as other:
            for number in range(rounds + 1):
                one.prompt(f"what is next after step {number}?")
                other.prompt(f"what is next after step {number}?")
            tools = [asked.body["tools"] for asked in model.turns if "save_carryover" in asked.tools]
        ours.wait_for_quiet()
        bare.wait_for_quiet()
    return clock(ours), clock(bare), tools[-1]


def clock(place: Place) -> Sample:
    """What the clocks said, but for the first turn, which waits for the child to start."""
    lines = (place.root / "clock").read_text(encoding="utf-8").split()
    return Sample(tuple(float(line) / 1e3 for line in lines[1:]))
