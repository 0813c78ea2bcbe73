"""Sessions of a real pi that go on for a while: over RPC, and in a terminal."""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import json
import os
import pty
import queue
import re
import select
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Callable, Iterator
from typing import Any

from tests.hosts.place import Json, Place, until

ESCAPES = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(\x07|\x1b\\)|[@-Z\\-_])")


class Rpc:
    """`pi --mode rpc`."""

    def __init__(self, place: Place, *arguments: str) -> None:
        self.place = place
        pipe = subprocess.PIPE
        self.process = place.start("--mode", "rpc", *arguments, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        self.seen: list[Json] = []
        self._ids = itertools.count(1)
        self._records: queue.Queue[Json | None] = queue.Queue()
        threading.Thread(target=self._read, daemon=True).start()

    def command(self, kind: str, **fields: Any) -> Json:
        """Send a command; its response, which must be a success."""
        name = f"c{next(self._ids)}"
        self._send({"id": name, "type": kind} | fields)
        response = self.wait(lambda record: record["type"] == "response" and record.get("id") == name)
        assert response["success"], response
        data: Json = response.get("data") or {}
        return data

    def prompt(self, message: str) -> None:
        """Send a message and wait until the run it starts is over."""
        self.command("prompt", message=message)
        self.wait(lambda record: record["type"] == self.place.host.settles)

    def send_prompt(self, message: str) -> None:
        self.command("prompt", message=message)

    def wait(self, wanted: Callable[[Json], bool], seconds: float = 30.0) -> Json:
        """The next record that is wanted. AssertionError when pi ends or says nothing for long."""
        while True:
            try:
                record = self._records.get(timeout=seconds)
            except queue.Empty:
                raise AssertionError(f"pi fell silent after {self.seen[-3:]}") from None
            assert record is not None, f"pi ended after {self.seen[-3:]}"
            if wanted(record):
                return record

    @property
    def kinds(self) -> list[str]:
        return [record["type"] for record in self.seen]

    @property
    def notices(self) -> list[str]:
        return [record["message"] for record in self.seen if record.get("method") == "notify"]

    @property
    def statuses(self) -> list[str]:
        return [record.get("statusText", "") for record in self.seen if record.get("method") == "setStatus"]

    def end(self) -> int:
        assert self.process.stdin
        self.process.stdin.close()
        return self.process.wait(60)

    def signal(self, number: int) -> int:
        self.process.send_signal(number)
        return self.process.wait(60)

    def _send(self, command: Json) -> None:
        assert self.process.stdin
        self.process.stdin.write(json.dumps(command).encode() + b"\n")
        self.process.stdin.flush()

    def _read(self) -> None:
        assert self.process.stdout
        with contextlib.suppress(ValueError):  # closed at the end of the test
            for line in self.process.stdout:
                record = json.loads(line)  # anything else on pi's stdout is a fault, and shows as silence
                self.seen.append(record)
                self._records.put(record)
        self._records.put(None)


class Tui:
    """pi in a terminal of its own."""

    def __init__(self, place: Place, *arguments: str) -> None:
        self.place = place
        self.terminal, inner = pty.openpty()
        fcntl.ioctl(self.terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 120, 0, 0))
        self.process = place.start(
            *arguments,
            stdin=inner,
            stdout=inner,
            stderr=inner,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
        )
        os.close(inner)
        self._output = bytearray()
        self._closed = threading.Event()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()
        self.wait_for("fake-1")  # the footer

    @property
    def screen(self) -> str:
        """Everything that was ever drawn, without the escapes."""
        return ESCAPES.sub("", self._output.decode("utf-8", "replace"))

    def wait_for(self, words: str, seconds: float = 20.0) -> None:
        until(lambda: words in self.screen, f"{words!r} is on the screen", seconds)

    def prompt(self, message: str) -> None:
        """Type a message and wait until its answer is in the session file."""
        self.type(message)
        self.wait_for(message[-60:])
        while not self.place.model.was_asked(message, seconds=0.5):
            self.type("\r")  # while pi 1.6 is still starting it refuses the first
        self.place.wait_for_turn(f"echo: {message}")

    def submit(self, message: str) -> None:
        self.type(message)
        self.wait_for(message[-60:])  # Return in the same read as the text would be taken for a paste
        self.type("\r")

    def type(self, keys: str) -> None:
        os.write(self.terminal, keys.encode())

    def signal(self, number: int) -> int:
        self.process.send_signal(number)
        return self.wait()

    def hang_up(self) -> None:
        """Close the terminal's other end, as a terminal window that is closed does."""
        if not self._closed.is_set():
            self._closed.set()
            self._reader.join()  # a read under way would keep the terminal open
            os.close(self.terminal)

    def wait(self, seconds: float = 60.0) -> int:
        return self.process.wait(seconds)

    def _read(self) -> None:
        with contextlib.suppress(OSError):  # the other end is gone
            while not self._closed.is_set():
                if select.select([self.terminal], [], [], 0.05)[0]:
                    self._output += os.read(self.terminal, 65536)


@contextlib.contextmanager
def rpc(place: Place, *arguments: str) -> Iterator[Rpc]:
    session = Rpc(place, *arguments)
    try:
        yield session
    finally:
        _stop(session.process)
        for pipe in (session.process.stdin, session.process.stdout):
            if pipe:
                with contextlib.suppress(OSError):
                    pipe.close()


@contextlib.contextmanager
def tui(place: Place, *arguments: str) -> Iterator[Tui]:
    session = Tui(place, *arguments)
    try:
        yield session
    finally:
        _stop(session.process)
        session.hang_up()


def _stop(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.send_signal(signal.SIGKILL)
    process.wait()
