from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from carryover import process
from carryover.process import Owner, lives, owner

posix = pytest.mark.skipif(sys.platform == "win32", reason="signals")


@pytest.fixture
def child() -> Iterator[subprocess.Popen[bytes]]:
    started = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    yield started
    started.kill()
    started.communicate()


def test_this_process_lives() -> None:
    me = owner(os.getpid())

    assert me.pid == os.getpid()
    assert me.machine
    assert me.started
    assert lives(me) is True


def test_a_child_lives_until_it_has_ended(child: subprocess.Popen[bytes]) -> None:
    who = owner(child.pid)

    before = lives(who)
    child.kill()
    child.wait()

    assert before is True
    assert lives(who) is False


@posix
def test_a_child_that_ended_and_that_nobody_asked_about_does_not_live(child: subprocess.Popen[bytes]) -> None:
    who = owner(child.pid)

    child.send_signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # it has ended, and stays a zombie

    assert lives(who) is False


def test_an_id_that_was_used_again_is_another_process() -> None:
    me = owner(os.getpid())

    assert lives(replace(me, started="another boot/1")) is False


def test_an_id_whose_start_is_not_known_is_taken_for_alive() -> None:
    """Rather a session saved late than one that is running saved by somebody else."""
    assert lives(replace(owner(os.getpid()), started="")) is True


def test_of_a_process_on_another_machine_nothing_is_known() -> None:
    assert lives(replace(owner(os.getpid()), machine="somewhere else")) is None
    assert lives(Owner(2**22, "", "somewhere else")) is None


@pytest.mark.parametrize("pid", [0, -1, 2**31, 10**30, -(10**30)])
def test_an_id_that_no_process_can_have_is_dead(pid: int) -> None:
    assert lives(Owner(pid, "", owner(os.getpid()).machine)) is False
    assert owner(pid).started == ""


@posix
def test_a_process_of_somebody_else_lives(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(pid: int, number: int) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "kill", refuse)

    assert lives(owner(os.getpid())) is True


@pytest.mark.skipif(sys.platform != "linux", reason="/proc")
def test_a_name_with_brackets_and_spaces_confuses_nobody(tmp_path: Path) -> None:
    program = tmp_path / "a) S 1 (b"
    program.symlink_to(Path(sys.executable).resolve())

    with subprocess.Popen([program, "-c", "input()"], stdin=subprocess.PIPE) as started:
        who = owner(started.pid)

        assert lives(who) is True
        assert who.started.rpartition("/")[2].isdigit()
        started.kill()


@posix
def test_where_there_is_no_proc_the_start_is_asked_of_ps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "sys", type("Other", (), {"platform": "darwin"}))

    me = owner(os.getpid())

    assert me.started == process._ps_started(os.getpid())
    assert lives(me) is True


@posix
def test_a_machine_without_ps_does_not_say(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*arguments: object, **more: object) -> None:
        raise FileNotFoundError("ps")

    monkeypatch.setattr(subprocess, "run", missing)
    monkeypatch.setattr(process, "sys", type("Other", (), {"platform": "darwin"}))

    assert owner(os.getpid()).started == ""
