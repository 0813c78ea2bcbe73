"""A completion from an OpenAI-compatible endpoint or from a command, within a deadline.

A model that fails is an answer too: nothing here raises for a server that is down, hangs or talks nonsense.
No error text holds the prompt, the answer, an address or a key, because such texts are shown and logged.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol

from carryover.errors import CompletionError
from carryover.text import clean

if TYPE_CHECKING:
    from subprocess import Popen
    from typing import IO

Stop = Literal["stop", "length", "aborted", "error", "timeout"]

#: Set for a command. A host that it starts must not ask us for a summary in its turn.
NESTED = "CARRYOVER_NESTED"

#: A summary has a few kilobytes. More is not one, and is not read.
_ANSWER_BYTES = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Prompt:
    """What a model is asked, and what the answer may cost: in tokens, and in seconds from first to last."""

    system: str
    text: str
    max_tokens: int
    seconds: float = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    """``stop`` says how it ended; only with ``"stop"`` is the text whole. ``error`` is for people."""

    text: str
    stop: Stop = "stop"
    error: str | None = None


class Source(Protocol):
    """The settings that say who is asked."""

    @property
    def summary_endpoint(self) -> str | None: ...
    @property
    def summary_command(self) -> tuple[str, ...] | None: ...
    @property
    def summary_model(self) -> str | None: ...


def available(settings: Source) -> Literal["endpoint", "command", ""]:
    """Who would be asked. The endpoint comes first; empty when neither is configured."""
    if settings.summary_endpoint:
        return "endpoint"
    return "command" if settings.summary_command else ""


def complete(prompt: Prompt, settings: Source, environ: Mapping[str, str]) -> Answer:
    """Ask, and wait ``prompt.seconds`` at most. Raises CompletionError when there is nobody to ask."""
    if environ.get(NESTED):
        return _failed("this already runs within a command that was asked for a summary")
    if settings.summary_endpoint:
        call = _Call(settings.summary_endpoint, settings.summary_model, _key(environ), prompt)
        return _within(prompt.seconds, lambda: _ask(call))
    if settings.summary_command:
        return _run(settings.summary_command, prompt, environ)
    raise CompletionError("Cannot ask for a summary: set summary.endpoint or summary.command first.")


def _failed(reason: str) -> Answer:
    return Answer("", "error", reason)


def _timeout(seconds: float) -> Answer:
    return Answer("", "timeout", f"no answer within {seconds:g} s")


# ---------------------------------------------------------------- an endpoint


@dataclass(frozen=True, slots=True, repr=False)
class _Call:
    endpoint: str
    model: str | None
    key: str | None
    prompt: Prompt

    @property
    def base(self) -> str:
        return self.endpoint.rstrip("/").removesuffix("/chat/completions")

    @property
    def body(self) -> dict[str, Any]:
        return {
            "model": self.model or "default",  # servers of one model take any name
            "messages": [
                {"role": "system", "content": clean(self.prompt.system)},
                {"role": "user", "content": clean(self.prompt.text)},
            ],
            "max_tokens": self.prompt.max_tokens,
        }


def _key(environ: Mapping[str, str]) -> str | None:
    return environ.get("CARRYOVER_API_KEY") or environ.get("OPENAI_API_KEY") or None


def _within(seconds: float, ask: Callable[[], Answer]) -> Answer:
    """The answer, or a timeout. A socket's own timeout is per read, and a server may drip for ever."""
    from threading import Thread

    answers: list[Answer] = []
    asking = Thread(target=lambda: answers.append(ask()), name="carryover completion", daemon=True)
    asking.start()
    asking.join(seconds)
    if answers:
        return answers[0]
    return _timeout(seconds) if asking.is_alive() else _failed("the request broke down")


def _ask(call: _Call) -> Answer:
    from importlib import import_module

    if not call.endpoint.startswith(("http://", "https://")):
        return _failed("the endpoint is no http address")
    try:
        openai = import_module("openai")
    except ImportError:
        return _ask_plainly(call)
    return _ask_by_sdk(call, openai)


def _ask_by_sdk(call: _Call, openai: Any) -> Answer:
    seconds = call.prompt.seconds
    try:
        client = openai.OpenAI(
            base_url=call.base,
            api_key=call.key or "none",
            timeout=seconds,
            max_retries=0,
            http_client=openai.DefaultHttpxClient(follow_redirects=False),
        )
        with client:
            data = client.chat.completions.with_raw_response.create(**call.body).content
    except openai.APIStatusError as error:
        return _failed(f"the endpoint answered HTTP {error.status_code}")
    except openai.APITimeoutError:
        return _timeout(seconds)
    except Exception as error:  # noqa: BLE001  errors of the SDK's own transport come through, and have no common root
        return _failed(f"the request failed ({type(error.__cause__ or error).__name__})")
    return _read(data)


def _ask_plainly(call: _Call) -> Answer:
    from http.client import HTTPException
    from urllib.error import HTTPError, URLError

    try:
        data = _post(call)
    except HTTPError as error:
        error.close()
        return _failed(f"the endpoint answered HTTP {error.code}")
    except TimeoutError:
        return _timeout(call.prompt.seconds)
    except URLError as error:
        if isinstance(error.reason, TimeoutError):
            return _timeout(call.prompt.seconds)
        return _failed(f"the endpoint cannot be reached ({type(error.reason).__name__})")
    except (HTTPException, OSError, ValueError) as error:
        return _failed(f"the request failed ({type(error).__name__})")
    return _read(data)


def _post(call: _Call) -> bytes:
    from json import dumps
    from urllib import request

    class NoRedirect(request.HTTPRedirectHandler):
        def redirect_request(self, *args: object) -> None:
            """None: key and conversation are for the host that was named, not for one that it names."""

    headers = {"Content-Type": "application/json"}
    if call.key:
        headers["Authorization"] = f"Bearer {call.key}"
    post = request.Request(f"{call.base}/chat/completions", dumps(call.body).encode(), headers)
    with request.build_opener(NoRedirect).open(post, timeout=call.prompt.seconds) as response:
        data: bytes = response.read(_ANSWER_BYTES)
    return data


def _read(data: bytes) -> Answer:
    """The first choice of a chat completion."""
    from json import loads

    try:
        choice = loads(data)["choices"][0]
        content, reason = choice["message"]["content"], choice.get("finish_reason")
    except (ValueError, RecursionError):
        return _failed("the endpoint's answer is not JSON")
    except (LookupError, TypeError, AttributeError):
        return _failed("the endpoint's answer is no chat completion")
    if isinstance(content, list):  # some servers answer in parts
        content = "".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    if not isinstance(content, str | None):
        return _failed("the endpoint's answer is no chat completion")
    if reason == "content_filter":
        return _failed("the endpoint withheld the answer")
    return Answer(clean(content or ""), "length" if reason in ("length", "max_tokens") else "stop")


# ---------------------------------------------------------------- a command


def _run(command: tuple[str, ...], prompt: Prompt, environ: Mapping[str, str]) -> Answer:
    """The command's output. The prompt goes by stdin: arguments can be seen by every user of the machine."""
    import subprocess
    from time import monotonic

    deadline = monotonic() + prompt.seconds
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**environ, NESTED: "1"},
            start_new_session=True,
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),
        )
    except (OSError, ValueError) as error:
        return _failed(f"the command cannot be started ({type(error).__name__})")
    try:
        output = _talk(process, f"{prompt.system}\n\n{prompt.text}\n", deadline - monotonic())
        if output is None:
            return _timeout(prompt.seconds)
        if len(output) > _ANSWER_BYTES:
            return _failed("the command does not stop talking")
        status = process.wait(max(0.0, deadline - monotonic()))
    except subprocess.TimeoutExpired:
        return _timeout(prompt.seconds)
    finally:  # also when Ctrl+C breaks the wait
        _end(process)
    if status:
        return _failed(f"the command ended with status {status}")
    return Answer(clean(output.decode("utf-8", errors="replace")))


def _talk(process: Popen[bytes], text: str, seconds: float) -> bytes | None:
    """Write all, read all; None when the time is up. In threads, so that neither side can block the other."""
    from threading import Thread

    assert process.stdin is not None
    assert process.stdout is not None
    outputs: list[bytes] = []
    data = clean(text).encode()
    writing = Thread(target=_write, args=(process.stdin, data), daemon=True)
    reading = Thread(target=_read_all, args=(process.stdout, outputs), daemon=True)
    writing.start()
    reading.start()
    reading.join(max(0.0, seconds))
    return outputs[0] if outputs else None


def _write(pipe: IO[bytes], data: bytes) -> None:
    from contextlib import suppress

    with (
        suppress(BrokenPipeError, ConnectionResetError),
        pipe,
    ):  # it may answer without having read everything
        pipe.write(data)


def _read_all(pipe: IO[bytes], outputs: list[bytes]) -> None:
    with pipe:
        outputs.append(pipe.read(_ANSWER_BYTES + 1))


def _end(process: Popen[bytes]) -> None:
    """End the command and what it started, unless it ended by itself."""
    import os
    import sys
    from contextlib import suppress

    if process.poll() is not None:
        return
    if sys.platform == "win32":
        import subprocess

        subprocess.run(
            ["taskkill", "/F", "/T", "/PID", str(process.pid)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=False,
        )
        process.kill()
    else:
        from signal import SIGKILL

        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, SIGKILL)
    process.wait()
