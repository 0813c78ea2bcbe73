from __future__ import annotations

import signal

import pytest

from tests.hosts.place import Place, tool_call
from tests.hosts.sessions import rpc

pytestmark = pytest.mark.hosts

NOTE = "- [ ] wire the retry queue to the scheduler"


def test_a_note_saved_through_the_tool_survives_sigkill_and_is_in_the_next_first_request_once(
    place: Place,
) -> None:
    with rpc(place) as session:
        session.prompt(tool_call(NOTE))
        session.signal(signal.SIGKILL)
    place.model.asked.clear()

    place.print("hello")

    first = place.model.turns[0]
    assert first.text.count("wire the retry queue to the scheduler") == 1
    assert first.system.count("<carryover project=") == 1
