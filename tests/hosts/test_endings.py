"""Every way pi can end, and what the next session is given after it."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import pytest

from tests.hosts.fake_model import Answer, FakeModel
from tests.hosts.place import SECOND_EXTENSION, Place, tool_call
from tests.hosts.sessions import Rpc, Tui, rpc, tui

pytestmark = pytest.mark.hosts

AT_ONCE = 3  # how many pi run at a time
NOTE = "- [ ] move the parser to the new grammar"
WORDS = "the lexer drops the last newline of a heredoc"
SILENT = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
STREAM = "slow:30 still talking"


@dataclass(frozen=True, slots=True)
class Ending:
    """A row of the matrix. `play` runs a session to its end in a place and gives the exit status."""

    mode: str
    how: str
    play: Callable[[Place], int]


def print_normally(place: Place) -> int:
    return place.print(tool_call(NOTE), WORDS).status


def print_and(*signals: int) -> Callable[[Place], int]:
    """A one-shot that has saved a note and is in the middle of its next answer."""

    def play(place: Place) -> int:
        process = place.start("-p", tool_call(NOTE), f"{STREAM} in {place.mark}", **SILENT)
        assert place.model.was_asked(place.mark, seconds=30)
        for number in signals:
            process.send_signal(number)
        return process.wait(30)

    return play


def json_normally(place: Place) -> int:
    return place.run("--mode", "json", tool_call(NOTE), WORDS).status


def json_and(*signals: int) -> Callable[[Place], int]:
    def play(place: Place) -> int:
        process = place.start("--mode", "json", tool_call(NOTE), f"{STREAM} in {place.mark}", **SILENT)
        assert place.model.was_asked(place.mark, seconds=30)
        for number in signals:
            process.send_signal(number)
        return process.wait(30)

    return play


def rpc_and(end: Callable[[Rpc], int]) -> Callable[[Place], int]:
    def play(place: Place) -> int:
        with rpc(place) as session:
            session.prompt(tool_call(NOTE))
            session.prompt(WORDS)
            return end(session)

    return play


def tui_and(end: Callable[[Tui], int]) -> Callable[[Place], int]:
    def play(place: Place) -> int:
        place.save(NOTE)
        with tui(place, "-e", str(SECOND_EXTENSION)) as session:
            session.prompt(f"{WORDS} {place.mark}")
            return end(session)

    return play


def twice(number: int) -> Callable[[Rpc | Tui], int]:
    def end(session: Rpc | Tui) -> int:
        session.process.send_signal(number)
        return session.signal(number)

    return end


def by(number: int) -> Callable[[Rpc | Tui], int]:
    return lambda session: session.signal(number)


def keys(*pressed: str) -> Callable[[Tui], int]:
    def end(session: Tui) -> int:
        for key in pressed:
            session.type(key)
        return session.wait()

    return end


def submit(line: str) -> Callable[[Tui], int]:
    def end(session: Tui) -> int:
        session.submit(line)
        return session.wait()

    return end


def close_terminal(session: Tui) -> int:
    session.hang_up()
    return session.wait()


def kill_terminal_session(session: Tui) -> int:
    """What `tmux kill-session` does: the signal to the whole group, and the terminal goes away."""
    os.killpg(session.process.pid, signal.SIGHUP)
    session.hang_up()
    return session.wait()


ENDINGS = [
    Ending("print", "normal end", print_normally),
    Ending("print", "SIGTERM while streaming", print_and(signal.SIGTERM)),
    Ending("print", "SIGHUP while streaming", print_and(signal.SIGHUP)),
    Ending("print", "SIGINT while streaming", print_and(signal.SIGINT)),
    Ending("print", "SIGKILL while streaming", print_and(signal.SIGKILL)),
    Ending("print", "SIGTERM twice", print_and(signal.SIGTERM, signal.SIGTERM)),
    Ending("json", "normal end", json_normally),
    Ending("json", "SIGTERM while streaming", json_and(signal.SIGTERM)),
    Ending("json", "SIGKILL while streaming", json_and(signal.SIGKILL)),
    Ending("rpc", "end of stdin", rpc_and(Rpc.end)),
    Ending("rpc", "SIGTERM", rpc_and(by(signal.SIGTERM))),
    Ending("rpc", "SIGHUP", rpc_and(by(signal.SIGHUP))),
    Ending("rpc", "SIGINT", rpc_and(by(signal.SIGINT))),
    Ending("rpc", "SIGKILL", rpc_and(by(signal.SIGKILL))),
    Ending("rpc", "SIGTERM twice", rpc_and(twice(signal.SIGTERM))),
    Ending("tui", "Ctrl+C twice", tui_and(keys("\x03", "\x03"))),
    Ending("tui", "Ctrl+D", tui_and(keys("\x04"))),
    Ending("tui", "/quit", tui_and(submit("/quit"))),
    Ending("tui", "ctx.shutdown()", tui_and(submit("/bye"))),
    Ending("tui", "SIGTERM", tui_and(by(signal.SIGTERM))),
    Ending("tui", "SIGTERM twice", tui_and(twice(signal.SIGTERM))),
    Ending("tui", "SIGHUP", tui_and(by(signal.SIGHUP))),
    Ending("tui", "kill-session", tui_and(kill_terminal_session)),
    Ending("tui", "terminal closed", tui_and(close_terminal)),
    Ending("tui", "SIGINT from outside", tui_and(by(signal.SIGINT))),
    Ending("tui", "SIGKILL", tui_and(by(signal.SIGKILL))),
]


def test_what_the_user_had_is_in_the_next_block_whatever_way_pi_ended(
    places: Callable[[str], Place], model: FakeModel, capsys: pytest.CaptureFixture[str]
) -> None:
    model.summary = Answer(f"{NOTE}\n- [ ] {WORDS}: mend it")

    def outcome(ending: Ending) -> Row:
        return play(ending, places(f"{ending.mode} {ending.how}".replace("/", "")))

    with ThreadPoolExecutor(AT_ONCE) as pool:
        rows = list(pool.map(outcome, ENDINGS))

    with capsys.disabled():
        print(table(rows))
    assert [row for row in rows if row.fault] == []


@dataclass(frozen=True, slots=True)
class Row:
    """What came of an ending; `fault` is empty when all is as it should be."""

    version: str
    ending: Ending
    status: int | str
    kept: str
    fault: str


def play(ending: Ending, place: Place) -> Row:
    status: int | str = ""
    kept = fault = ""
    try:
        status = ending.play(place)
        place.wait_for_quiet(5.0)
        block = place.next_block()
        kept = kept_as(place, block)
        fault = lacking(ending, place, block)
    except AssertionError as error:
        fault = str(error)
    return Row(place.host.version, ending, status, kept, fault)


def kept_as(place: Place, block: str) -> str:
    """Which tiers wrote, and whether the last turn is in the block by one of them."""
    sources = [event["source"] for event in place.events if event["op"] == "note"]
    return ", ".join(dict.fromkeys(sources)) + (": last turn" if WORDS in block else "")


def lacking(ending: Ending, place: Place, block: str) -> str:
    if NOTE not in block:
        return "the note is not in the next block"
    if ending.mode not in ("print", "json"):
        return "" if WORDS in block else "the last settled turn is not in the next block"
    if len(place.events) != 1:
        return "a one-shot wrote more than the tool stored"
    return "" if WORDS not in block and STREAM not in block else "a one-shot left more than the tool stored"


def table(rows: list[Row]) -> str:
    lines = [f"\n{'pi':8}{'mode':7}{'ending':26}{'status':>7}  {'kept':32}{'fault'}"]
    for row in rows:
        where = f"{row.version:8}{row.ending.mode:7}{row.ending.how:26}"
        lines.append(f"{where}{row.status!s:>7}  {row.kept:32}{row.fault or '-'}")
    return "\n".join(lines)
