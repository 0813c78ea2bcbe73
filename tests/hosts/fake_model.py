"""A model server on loopback that speaks the OpenAI chat stream, for driving real hosts.

A prompt scripts its own answer:

    tool:NAME {json}     the tool is called; the request with its result is answered "tool said: RESULT"
    slow:S text          the text comes over S seconds
    usage:N text         N prompt tokens are reported, to cross the host's threshold for compaction
    fail:STATUS text     that HTTP status
    overflow:N text      refused as too long until the conversation has been compacted
    anything else        "echo: text"

The host's own compaction is summarised by a fixed text. What carryover asks for is answered by `summary`.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Json = dict[str, Any]

DIRECTIVE = re.compile(r"(tool|slow|usage|fail|overflow):")
COMPACTED = "conversation history before this point was compacted"
PIECE_SECONDS = 0.1
HANG_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class Answer:
    """A streamed text or tool call, or an HTTP error."""

    text: str = ""
    tool: tuple[str, str] | None = None
    finish: str = "stop"
    prompt_tokens: int = 100
    seconds: float = 0.0
    status: int = 200
    code: str = "server_error"


@dataclass(frozen=True, slots=True)
class Asked:
    """One request, as it came."""

    body: Json

    @property
    def messages(self) -> list[Json]:
        messages: list[Json] = self.body.get("messages") or [{"role": "user", "content": ""}]
        return messages

    @property
    def system(self) -> str:
        return "\n".join(text_of(m) for m in self.messages if m["role"] in ("system", "developer"))

    @property
    def text(self) -> str:
        """Everything the model is shown, in order."""
        return "\n".join(text_of(message) for message in self.messages)

    @property
    def tools(self) -> list[str]:
        return [tool["function"]["name"] for tool in self.body.get("tools") or []]

    @property
    def is_compaction(self) -> bool:
        return not self.tools and "context summarization assistant" in self.system.lower()

    @property
    def is_summary(self) -> bool:
        """Whether carryover asks for a summary: nobody else asks without tools."""
        return not self.tools and not self.is_compaction


def text_of(message: Json) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    return "".join(part.get("text", "") for part in content or [] if isinstance(part, dict))


def choose(asked: Asked) -> Answer:
    messages = asked.messages
    script, last = _script(messages), messages[-1]
    usage = re.search(r"usage:(\d+)", script)
    tokens = int(usage[1]) if usage else 100
    if asked.is_compaction:
        return Answer("## Goal\nthe compacted past", prompt_tokens=tokens)
    if status := _number("fail", script):
        return Answer("scripted failure", status=int(status))
    if _number("overflow", script) and COMPACTED not in asked.text:
        too_long = "This model's maximum context length is 1000 tokens. Your messages resulted in 99999 tokens."
        return Answer(too_long, status=400, code="context_length_exceeded")
    if last["role"] == "tool":
        return Answer("tool said: " + text_of(last)[:200], prompt_tokens=tokens)
    if call := re.match(r"tool:(\w+)\s*(\{.*\})", script, re.S):
        return Answer(tool=(call[1], call[2]), prompt_tokens=tokens)
    return Answer("echo: " + script[:400], prompt_tokens=tokens, seconds=_number("slow", script) or 0.0)


def _script(messages: list[Json]) -> str:
    """The first directive since the last answer: extensions add user messages of their own."""
    texts: list[str] = []
    for message in reversed(messages):
        if message["role"] == "assistant":
            break
        if message["role"] == "user":
            texts.insert(0, text_of(message))
    return next((text for text in texts if DIRECTIVE.match(text)), texts[-1] if texts else "")


def _number(name: str, text: str) -> float | None:
    found = re.match(name + r":([\d.]+)", text)
    return float(found[1]) if found else None


@dataclass
class FakeModel:
    """The server and what it was asked. `summary` answers carryover's own requests; None: a good one."""

    summary: Answer | None = None
    asked: list[Asked] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._changed = threading.Condition()
        self._over = threading.Event()
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._server.daemon_threads = True

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    @property
    def turns(self) -> list[Asked]:
        """The requests of conversations, without those for summaries."""
        return [asked for asked in self.asked if asked.tools]

    @property
    def summaries(self) -> list[Asked]:
        return [asked for asked in self.asked if asked.is_summary]

    def wait(self, holds: Callable[[FakeModel], bool], seconds: float = 20.0) -> None:
        """Wait until something holds of what was asked. AssertionError when it does not come to hold."""
        with self._changed:
            assert self._changed.wait_for(lambda: holds(self), seconds), "the expected request never came"

    def was_asked(self, words: str, seconds: float) -> bool:
        """Whether a turn with these words comes within so many seconds, or came before."""
        with self._changed:
            return self._changed.wait_for(lambda: any(words in turn.text for turn in self.turns), seconds)

    def record(self, body: Json) -> Answer:
        asked = Asked(body)
        with self._changed:
            self.asked.append(asked)
            self._changed.notify_all()
        if asked.is_summary:
            return self.summary or Answer(f"- [ ] go on with: {asked.text.splitlines()[-1][:200]}")
        return choose(asked)

    def pause(self, seconds: float) -> None:
        self._over.wait(seconds)

    def __enter__(self) -> FakeModel:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._over.set()
        self._server.shutdown()
        self._server.server_close()


def _handler(model: FakeModel) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_args: object) -> None:
            pass

        def do_GET(self) -> None:
            self._whole(200, {"object": "list", "data": [{"id": "fake-1", "object": "model"}]})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("content-length") or 0)) or b"{}")
            answer = model.record(body)
            if answer.status != 200:
                error = {"message": answer.text, "type": "invalid_request_error", "code": answer.code}
                return self._whole(answer.status, {"error": error})
            return self._stream(answer)

        def _whole(self, status: int, data: Json) -> None:
            payload = json.dumps(data).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(payload)))
            self.end_headers()
            self.wfile.write(payload)

        def _stream(self, answer: Answer) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("transfer-encoding", "chunked")
            self.end_headers()
            try:
                for chunk in _chunks(answer, model.pause):
                    self._event(json.dumps(chunk))
                self._event("[DONE]")
                self.wfile.write(b"0\r\n\r\n")
            except OSError:
                self.close_connection = True  # the host was ended in the middle of an answer

        def _event(self, data: str) -> None:
            event = f"data: {data}\n\n".encode()
            self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))
            self.wfile.flush()

    return Handler


def _chunks(answer: Answer, pause: Callable[[float], None]) -> Iterator[Json]:
    base = {
        "id": "chatcmpl-fake",
        "object": "chat.completion.chunk",
        "created": int(time.time()),
        "model": "fake-1",
    }

    def chunk(delta: Json, finish: str | None = None) -> Json:
        return base | {"choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}

    yield chunk({"role": "assistant", "content": ""})
    if answer.tool:
        name, arguments = answer.tool
        call = {"index": 0, "id": f"call_{time.time_ns()}", "type": "function"}
        yield chunk({"tool_calls": [call | {"function": {"name": name, "arguments": arguments}}]})
        yield chunk({}, "tool_calls")
    else:
        for piece in _pieces(answer, pause):
            yield chunk({"content": piece})
        yield chunk({}, answer.finish)
    usage = {
        "prompt_tokens": answer.prompt_tokens,
        "completion_tokens": 9,
        "total_tokens": answer.prompt_tokens + 9,
    }
    yield base | {"choices": [], "usage": usage}


def _pieces(answer: Answer, pause: Callable[[float], None]) -> Iterator[str]:
    """The text at once, or in as many pieces as its seconds ask for, with dots when it is too short."""
    if not answer.seconds:
        yield answer.text
        return
    count = max(1, int(answer.seconds / PIECE_SECONDS))
    step = max(1, -(-len(answer.text) // count))
    parts = [answer.text[start : start + step] for start in range(0, len(answer.text), step)]
    for part in parts + ["."] * (count - len(parts)):
        yield part
        pause(PIECE_SECONDS)
