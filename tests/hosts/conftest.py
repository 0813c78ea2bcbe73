"""Real hosts, when there are any.

`CARRYOVER_PI_HOSTS` names a folder into which pi was installed by npm, with a Node 22 beside it. Without it
the tests that need a host are skipped, or fail when `CARRYOVER_REQUIRE_HOSTS=1` says that they must run.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.hosts.fake_model import FakeModel
from tests.hosts.place import Host, Place

ENTRIES = {
    "0.73.1": "@mariozechner/pi-coding-agent/dist/cli.js",
    "1.6.0": "@earendil-works/pi-coding-agent/dist/bundle/cli.js",
}


@pytest.fixture(params=sorted(ENTRIES))
def host(request: pytest.FixtureRequest) -> Host:
    """Each version of pi in turn."""
    folder = os.environ.get("CARRYOVER_PI_HOSTS")
    if folder is None:
        return _lacking("CARRYOVER_PI_HOSTS names no folder with a pi to drive")
    modules = Path(folder).resolve() / "node_modules"
    node = next(
        (n for n in (modules.parent / "node22", *modules.glob("node-linux-*/bin/node")) if n.exists()), None
    )
    cli = modules / ENTRIES[request.param]
    if node is None or not cli.exists():
        return _lacking(f"there is no Node, or no pi {request.param}, in {folder}")
    return Host(request.param, node, cli)


def _lacking(what: str) -> Host:
    if os.environ.get("CARRYOVER_REQUIRE_HOSTS") == "1":
        pytest.fail(what)
    pytest.skip(what)


@pytest.fixture
def model() -> Iterator[FakeModel]:
    with FakeModel() as running:
        yield running


@pytest.fixture
def place(tmp_path: Path, host: Host, model: FakeModel) -> Iterator[Place]:
    """A project in which nothing ever happened; at the end of a test nothing may run in it any more."""
    made = Place(tmp_path, host, model)
    yield made
    made.wait_for_quiet()


@pytest.fixture
def places(tmp_path: Path, host: Host, model: FakeModel) -> Callable[[str], Place]:
    """Makes more of them, by name."""
    return lambda name: Place(tmp_path / name, host, model)
