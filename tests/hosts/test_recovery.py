"""Sessions that ended with nobody left to save them."""

from __future__ import annotations

import os
import signal
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.hosts.place import Place, until
from tests.hosts.sessions import Rpc, rpc

pytestmark = pytest.mark.hosts

FIRST = "the first session renames the columns"
SECOND = "the second session splits the module"
THIRD = "the third session is still at work"


def pull_the_plug(place: Place, sessions: list[Rpc], spared: set[int]) -> None:
    """End each pi and its child at once, as a machine that loses its power does."""
    for process in set(place.processes()) - spared:
        os.kill(process, signal.SIGKILL)
    for session in sessions:
        session.process.wait()


def test_two_killed_sessions_are_recovered_once_each_and_a_living_one_is_left_alone(place: Place) -> None:
    with rpc(place) as living:
        living.prompt(THIRD)
        spared = set(place.processes())
        with rpc(place) as first, rpc(place) as second:
            first.prompt(FIRST)
            second.prompt(SECOND)
            until(lambda: len(place.checkpoints()) == 3, "each session has written down where it stands")
            pull_the_plug(place, [first, second], spared)
        assert place.notes("raw") == []

        block = place.next_block()
        again = place.next_block()

        assert FIRST in block
        assert SECOND in block
        assert THIRD not in block
        assert again == block
        assert len(place.notes("raw")) == 2


def test_no_process_is_left_after_many_sessions_of_which_half_were_killed(place: Place) -> None:
    def play(number: int) -> None:
        with rpc(place) as session:
            session.command("get_state")
            if number % 2:
                session.signal(signal.SIGKILL)
            else:
                session.end()

    with ThreadPoolExecutor(3) as pool:
        list(pool.map(play, range(25)))

    place.wait_for_quiet(seconds=2.0)
