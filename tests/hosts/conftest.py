"""Real hosts: each version of pi in turn, in a place of its own, with a model that is none."""

from __future__ import annotations

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
def host(request: pytest.FixtureRequest, pi_hosts: Path) -> Host:
    folder = pi_hosts.resolve()
    nodes = [folder / "node22", *folder.glob("node_modules/node-linux-*/bin/node")]
    return Host(
        version=request.param,
        node=next(node for node in nodes if node.exists()),
        cli=folder / "node_modules" / ENTRIES[request.param],
    )


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
