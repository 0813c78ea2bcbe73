from __future__ import annotations

import json
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest

from carryover.completion import Answer, Prompt, available, complete
from carryover.errors import CompletionError

PROMPT = Prompt("You write notes.", "What is open? 还有什么？", max_tokens=64, seconds=20)
KEY = "sk-very-secret"
Reply = Callable[["Handler"], None]


@dataclass(frozen=True)
class Settings:
    summary_endpoint: str | None = None
    summary_command: tuple[str, ...] | None = None
    summary_model: str | None = None


# ---------------------------------------------------------------- a server of our own


@dataclass
class Seen:
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *args: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.seen.append(Seen(self.path, {k.lower(): v for k, v in self.headers.items()}, body))
        self.server.reply(self)

    def do_GET(self) -> None:
        """Where a followed redirect would come."""
        self.server.seen.append(Seen(self.path, {k.lower(): v for k, v in self.headers.items()}, {}))
        self.send(chat("stolen"))

    def send(self, data: bytes, status: int = 200, length: int | None = None, **headers: str) -> None:
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data) if length is None else length))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)


class Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seen: list[Seen] = []
        self.reply: Reply = says("- [ ] fix the parser")
        self.over = Event()

    @property
    def settings(self) -> Settings:
        return Settings(summary_endpoint=f"http://127.0.0.1:{self.server_port}/v1", summary_model="small")


def chat(content: object, reason: str | None = "stop") -> bytes:
    message = {"role": "assistant", "content": content}
    choice = {"index": 0, "message": message, "finish_reason": reason}
    return json.dumps(
        {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice]}
    ).encode()


def says(content: object, reason: str | None = "stop") -> Reply:
    return lambda handler: handler.send(chat(content, reason))


def hang(handler: Handler) -> None:
    handler.server.over.wait(30)


def drip(handler: Handler) -> None:
    """A byte often enough that no read times out."""
    handler.send(b"", length=1000)
    while not handler.server.over.wait(0.05):
        handler.wfile.write(b" ")


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as server:
        thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield server
        server.over.set()
        server.shutdown()
        thread.join()


@pytest.fixture(params=["plain", "sdk"])
def transport(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything about an endpoint holds with the SDK and without it."""
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    if request.param == "plain":
        monkeypatch.setitem(sys.modules, "openai", None)
    else:
        pytest.importorskip("openai")


# ---------------------------------------------------------------- who is asked


@pytest.mark.parametrize(
    ("settings", "who"),
    [
        (Settings(), ""),
        (Settings(summary_command=()), ""),
        (Settings(summary_command=("llm",)), "command"),
        (Settings(summary_endpoint="http://x", summary_command=("llm",)), "endpoint"),
    ],
)
def test_the_endpoint_comes_before_the_command(settings: Settings, who: str) -> None:
    assert available(settings) == who


def test_nobody_to_ask_is_an_error() -> None:
    with pytest.raises(CompletionError, match=r"summary\.endpoint"):
        complete(PROMPT, Settings(), {})


def test_a_command_asked_for_a_summary_asks_for_none(server: Server) -> None:
    answer = complete(PROMPT, server.settings, {"CARRYOVER_NESTED": "1"})

    assert answer.stop == "error"
    assert server.seen == []


# ---------------------------------------------------------------- an endpoint


@pytest.mark.usefixtures("transport")
def test_an_endpoint_is_asked_once_in_the_common_format(server: Server) -> None:
    answer = complete(PROMPT, server.settings, {"OPENAI_API_KEY": KEY})

    assert answer == Answer("- [ ] fix the parser", "stop", None)
    (seen,) = server.seen
    assert seen.path == "/v1/chat/completions"
    assert seen.headers["authorization"] == f"Bearer {KEY}"
    assert seen.body == {
        "model": "small",
        "max_tokens": 64,
        "messages": [
            {"role": "system", "content": "You write notes."},
            {"role": "user", "content": "What is open? 还有什么？"},
        ],
    }


@pytest.mark.usefixtures("transport")
def test_our_own_key_comes_before_the_common_one(server: Server) -> None:
    complete(PROMPT, server.settings, {"OPENAI_API_KEY": "other", "CARRYOVER_API_KEY": KEY})

    assert server.seen[0].headers["authorization"] == f"Bearer {KEY}"


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (says("half a no", "length"), Answer("half a no", "length")),
        (says("whole", None), Answer("whole")),
        (says([{"type": "text", "text": "in "}, {"type": "text", "text": "parts"}]), Answer("in parts")),
        (says(None), Answer("")),
        (says("half \ud83d\0"), Answer("half \ufffd")),
        (says("x", "content_filter"), Answer("", "error", "the endpoint withheld the answer")),
        (lambda h: h.send(b"<html>"), Answer("", "error", "the endpoint's answer is not JSON")),
        (lambda h: h.send(b""), Answer("", "error", "the endpoint's answer is not JSON")),
        (lambda h: h.send(b"[" * 100_000), Answer("", "error", "the endpoint's answer is not JSON")),
        (lambda h: h.send(b'"choices"'), Answer("", "error", "the endpoint's answer is no chat completion")),
        (
            lambda h: h.send(b'{"choices":[]}'),
            Answer("", "error", "the endpoint's answer is no chat completion"),
        ),
        (lambda h: h.send(b"{}", status=500), Answer("", "error", "the endpoint answered HTTP 500")),
        (lambda h: h.send(b"{}", status=401), Answer("", "error", "the endpoint answered HTTP 401")),
    ],
)
def test_how_an_answer_ended_is_told(server: Server, reply: Reply, expected: Answer) -> None:
    server.reply = reply

    assert complete(PROMPT, server.settings, {}) == expected
    assert len(server.seen) == 1


@pytest.mark.usefixtures("transport")
def test_a_stream_that_breaks_is_no_answer(server: Server) -> None:
    server.reply = lambda handler: handler.send(chat("half a no")[:-30], length=len(chat("half a no")))

    answer = complete(PROMPT, server.settings, {})

    assert (answer.text, answer.stop) == ("", "error")


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize("reply", [hang, drip])
def test_a_server_that_hangs_or_drips_is_left_at_the_deadline(server: Server, reply: Reply) -> None:
    complete(PROMPT, server.settings, {})  # the SDK takes a second to import
    server.reply = reply

    answer = complete(Prompt("", "", 1, seconds=0.4), server.settings, {})

    assert answer == Answer("", "timeout", "no answer within 0.4 s")


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize("status", [302, 307])
def test_no_redirect_is_followed(server: Server, status: int) -> None:
    address = f"http://localhost:{server.server_port}/other"
    server.reply = lambda handler: handler.send(b"", status=status, location=address)

    answer = complete(PROMPT, server.settings, {"OPENAI_API_KEY": KEY})

    assert answer == Answer("", "error", f"the endpoint answered HTTP {status}")
    assert [seen.path for seen in server.seen] == ["/v1/chat/completions"]


@pytest.mark.usefixtures("transport")
@pytest.mark.parametrize(
    ("endpoint", "key"),
    [
        ("http://user:hunter2@127.0.0.1:1/v1", KEY),
        ("http://127.0.0.1:1/v1", f"{KEY}\nx: y"),
        ("http://127.0.0.1:1/v1", f"{KEY}é"),
        ("http://[bad", KEY),
        ("http://127.0.0.1:port/v1", KEY),
        ("file:///etc/passwd", KEY),
    ],
)
def test_no_error_shows_a_key_or_an_address(endpoint: str, key: str) -> None:
    answer = complete(PROMPT, Settings(summary_endpoint=endpoint), {"CARRYOVER_API_KEY": key})

    assert answer.stop == "error"
    assert answer.error
    assert not any(secret in answer.error for secret in (KEY, "hunter2", "127.0.0.1", "passwd"))


@pytest.mark.usefixtures("transport")
def test_an_endpoint_is_never_a_file(tmp_path: Path) -> None:
    (tmp_path / "chat").mkdir()
    (tmp_path / "chat" / "completions").write_bytes(chat("from a file"))

    answer = complete(PROMPT, Settings(summary_endpoint=tmp_path.as_uri()), {})

    assert answer == Answer("", "error", "the endpoint is no http address")


# ---------------------------------------------------------------- a command


def python(code: str, *arguments: str) -> Settings:
    return Settings(summary_command=(sys.executable, "-c", code, *arguments))


ECHO = """
import os, sys
prompt = sys.stdin.buffer.read().decode()
answer = [prompt, repr(len(sys.argv)), os.environ.get("CARRYOVER_NESTED"), os.environ.get("MINE")]
sys.stdout.buffer.write("|".join(answer).encode())
"""


def test_a_command_gets_the_prompt_by_stdin_and_is_marked() -> None:
    answer = complete(PROMPT, python(ECHO), {"MINE": "kept"})

    assert answer == Answer("You write notes.\n\nWhat is open? 还有什么？\n|1|1|kept")


def test_a_command_that_answers_without_reading_has_answered() -> None:
    big = Prompt("", "x" * 5_000_000, 1, seconds=20)

    assert complete(big, python("print('- [ ] x')"), {}) == Answer("- [ ] x\n")


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("print('half'); raise SystemExit(3)", "the command ended with status 3"),
        ("while True: print('x' * 100_000)", "the command does not stop talking"),
    ],
)
def test_a_command_that_fails_is_an_error(code: str, error: str) -> None:
    assert complete(PROMPT, python(code), {}) == Answer("", "error", error)


@pytest.mark.parametrize("command", [("/nowhere/llm",), ("a\0b",), ("",)])
def test_a_command_that_cannot_start_is_an_error(command: tuple[str, ...]) -> None:
    answer = complete(PROMPT, Settings(summary_command=command), {})

    assert answer.stop == "error"
    assert answer.error
    assert answer.error.startswith("the command cannot be started")


def test_bytes_that_are_no_text_are_replaced(tmp_path: Path) -> None:
    answer = complete(PROMPT, python("import sys; sys.stdout.buffer.write(b'a\\xff\\x00b')"), {})

    assert answer == Answer("a\ufffdb")


LINGER = """
import socket, subprocess, sys
wait = "import socket, sys; s = socket.create_connection(('127.0.0.1', int(sys.argv[1]))); s.recv(1)"
subprocess.run([sys.executable, "-c", wait, sys.argv[1]])
"""


def test_at_the_deadline_the_command_dies_with_what_it_started() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(20)
        answers: list[Answer] = []
        settings = python(LINGER, str(listener.getsockname()[1]))
        asking = Thread(target=lambda: answers.append(complete(Prompt("", "", 1, seconds=3), settings, {})))
        asking.start()
        grandchild, _ = listener.accept()

        with grandchild:
            grandchild.settimeout(20)
            ended = grandchild.recv(1)
        asking.join()

    assert ended == b""
    assert answers == [Answer("", "timeout", "no answer within 3 s")]


def test_importing_this_module_loads_nothing_slow() -> None:
    slow = {"subprocess", "urllib.request", "http.client", "openai", "tempfile", "logging"}
    code = f"import sys, carryover.completion; print({slow!r} & set(sys.modules))"

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "set()\n"
