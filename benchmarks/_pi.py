"""A real pi for a benchmark, where there is one: the tests' project, fake model and session, with two clocks in it."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _child import ECHO
from _measure import CHECKOUT, Sample
from carryover import Memory

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
#: In the place of ours: asks a child that answers at once.
PEER = """\
import { spawn } from "node:child_process"
export default (pi) => {
  const child = spawn(process.env.CARRYOVER_PYTHON, ["-I", "-S", "-c", process.env.CARRYOVER_ECHO], { stdio: ["pipe", "pipe", "ignore"] })
  let heard
  child.stdout.on("data", () => heard?.())
  pi.on("before_agent_start", () => new Promise((resolve) => {
    heard = () => resolve(undefined)
    child.stdin.write('{"id":1}\\n')
  }))
}
"""  # noqa: E501 - TypeScript


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
    """A place whose pi carries the two clocks, with an extension between them."""

    between: Path = EXTENSION

    def command(self, *arguments: str) -> list[str]:
        extensions = (self.root / "before.ts", self.between, self.root / "behind.ts")
        words = [word for extension in extensions for word in ("-e", str(extension))]
        return [str(self.host.node), str(self.host.cli), *words, *arguments]


def turns(host: Host, folder: Path, rounds: int, note: str) -> tuple[Sample, Sample, list[dict[str, Any]]]:
    """
    How long `before_agent_start` takes in a real pi with our extension, and with one that asks an echo, prompt by
    prompt in turns; and the tools of a request with ours, as the model was sent them.
    """
    with FakeModel() as model:
        ours = prepared(ClockedPlace(folder / f"ours-{host.version}", host, model), note)
        peer = prepared(ClockedPlace(folder / f"peer-{host.version}", host, model), note)
        peer.between = peer.root / "peer.ts"
        with rpc(ours) as one, rpc(peer) as other:
            for number in range(rounds + 1):
                one.prompt(f"what is next after step {number}?")
                other.prompt(f"what is next after step {number}?")
            tools = [asked.body["tools"] for asked in model.turns if "save_carryover" in asked.tools]
        ours.wait_for_quiet()
        peer.wait_for_quiet()
    return clock(ours), clock(peer), tools[-1]


def prepared(place: ClockedPlace, note: str) -> ClockedPlace:
    for name, source in (("before", BEFORE), ("behind", BEHIND), ("peer", PEER)):
        (place.root / f"{name}.ts").write_text(source, encoding="utf-8")
    # Below a checkout, which would else be taken for the project.
    place.extra |= {"CARRYOVER_PROJECT": str(place.project)}
    place.extra |= {"CARRYOVER_CLOCK": str(place.root / "clock"), "CARRYOVER_ECHO": ECHO}
    Memory(place.project, environ=place.environment).save(note)
    return place


def clock(place: Place) -> Sample:
    """What the clocks said, but for the first turn, which waits for the child to start."""
    lines = (place.root / "clock").read_text(encoding="utf-8").split()
    return Sample(tuple(float(line) / 1e3 for line in lines[1:]))
