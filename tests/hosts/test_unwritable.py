"""A store that cannot be written: pi goes on, and says so once."""

from __future__ import annotations

import pytest

from tests.hosts.place import Place, tool_call
from tests.hosts.sessions import rpc

pytestmark = pytest.mark.hosts

NOTE = "- [ ] mend the lexer"


def test_a_store_that_cannot_be_locked_is_read_and_said_once_and_pi_goes_on(place: Place) -> None:
    place.save(NOTE)
    lock = place.project / ".pi" / "carryover.lock"
    lock.unlink()
    lock.mkdir()
    (place.project / ".pi" / "carryover.sessions").write_text("in the way", encoding="utf-8")

    with rpc(place) as session:
        session.prompt("one thing more")
        session.prompt("and another")
        session.prompt(tool_call("- [ ] another note"))
        status = session.end()
        said = [notice for notice in session.notices if "cannot save" in notice]

    assert status == 0
    assert len(said) == 1
    assert NOTE in place.model.turns[-1].system
    assert any("cannot write" in asked.text for asked in place.model.turns)
