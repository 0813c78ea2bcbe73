"""The Python side of pi: requests of the extension in, calls on the lifecycle, replies out.

A request is a line ``{"id": N, "do": VERB, …}``; its reply is ``{"id": N, "ok": true, …}`` or
``{"id": N, "ok": false, "error": sentence}``. Unasked, ``{"event": "notice", "level": …, "text": …}`` and
``{"event": "status", "text": …}`` may be sent. One loop does the work, in the order of the requests.
One thread reads them, one watches the note's file, and one gets a summary when the settings name somebody
else for it than pi's own model.

The end of standard input means that pi is gone, however it went: the session is then finished from what is on
disk, and this process ends within ``PATIENCE`` seconds, whatever hangs.

Up to the first reply only the standard library is imported.
"""

from __future__ import annotations

import os
import queue
import sys
import threading
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, NoReturn, cast, get_args

from carryover.errors import CarryoverError, ProjectError
from carryover.hosts.pi.lines import BadRequest, Fields, Output, Request, lines, parse
from carryover.hosts.pi.watch import Watch, add_environment
from carryover.project import find
from carryover.session.lifecycle import Ask, Carryover, Mode, Notice, Outcome, Session
from carryover.settings import load

if TYPE_CHECKING:  # imported when a summary is asked for, which is long after the first reply
    from carryover.completion import Answer

PATIENCE = 3.0  # seconds

Reply = dict[str, Any]
Inbox = queue.SimpleQueue[Callable[[], None] | None]


class Bridge:
    """Answers requests by calls on `carryover`. All methods but the inbox's are for one thread."""

    def __init__(self, carryover: Carryover, output: Output, inbox: Inbox) -> None:
        self._carryover = carryover
        self._output = output
        self._inbox = inbox
        self._watch = Watch(partial(inbox.put, self._edited))
        self._session: Session | None = None
        self._asks: dict[str, Ask] = {}
        self._verbs: dict[str, Callable[[Fields], Reply]] = {
            "start": self._start,
            "prompt": self._prompt,
            "settled": lambda fields: self._told(carryover.settled(fields.path("file"))),
            "compacting": self._compacting,
            "compacted": lambda fields: {"system": carryover.compacted()},
            "save": lambda fields: {"text": carryover.save(fields.get("content", str))},
            "command": self._command,
            "complete": self._complete,
            "answer": self._answer,
            "end": lambda fields: self._told(carryover.end(fields.get("reason", str))),
        }

    def hear(self, line: bytes) -> None:
        """Do what a line asks for, and reply. What is no request is passed over: nobody waits for a reply."""
        try:
            request = parse(line)
        except BadRequest as error:
            print(f"passed over {len(line)} bytes: {error}", file=sys.stderr)
            return
        if request.verb == "run":
            reply = self._guarded("run", partial(self._run, request))
            if reply["ok"]:
                return  # the reply follows when the summary has come
        else:
            reply = self._reply(request.verb, request.fields)
        self._output.send({"id": request.id, **reply})
        self._follow()

    def lost(self) -> None:
        """The host is gone: finish without it."""
        self._watch.stop()
        self._guarded("finish the session", self._carryover.lost)

    def _reply(self, verb: str, fields: Fields) -> Reply:
        if verb not in self._verbs:
            return {"ok": False, "error": f"There is no request named {verb[:40]!r}."}
        return self._guarded(verb, partial(self._verbs[verb], fields))

    def _guarded(self, what: str, act: Callable[[], Reply | None]) -> Reply:
        try:
            return {"ok": True, **(act() or {})}
        except (CarryoverError, BadRequest) as error:
            return {"ok": False, "error": str(error)}
        except Exception as error:  # noqa: BLE001 - the border to the host: a fault of ours ends as a sentence in pi
            _log(error)
            fault = f"carryover failed at `{what}`: {type(error).__name__}, a fault of its own."
            return {"ok": False, "error": f"{fault} See `carryover doctor`."}

    # ---------------------------------------------------------------- the requests

    def _start(self, fields: Fields) -> Reply:
        session = fields.inner("session")
        self._session = Session(
            id=session.get("id", str),
            file=session.path("file"),
            mode=_mode(fields.get("mode", str)),
            cwd=fields.path("cwd") or _missing("cwd"),
            messages=session.get("messages", int),
            nested=fields.get("nested", bool),
            trusted=fields.maybe("trusted", bool),
            owner=fields.get("pid", int),
        )
        return self._told(self._carryover.start(self._session, fields.get("reason", str)))

    def _prompt(self, fields: Fields) -> Reply:
        delivery = self._carryover.prompt(fields.get("text", str))
        return {"system": delivery.system, "message": delivery.message}

    def _compacting(self, fields: Fields) -> Reply:
        self._carryover.compacting()
        return {}

    def _command(self, fields: Fields) -> Reply:
        return self._told(self._carryover.command(fields.get("name", str), fields.get("args", str)))

    def _complete(self, fields: Fields) -> Reply:
        found = self._carryover.complete(fields.get("name", str), fields.get("prefix", str))
        return {"items": [{"value": c.value, "label": c.label, "description": c.description} for c in found]}

    def _answer(self, fields: Fields) -> Reply:
        from carryover.completion import Answer, Stop

        stop = fields.get("stop", str)
        if stop not in get_args(Stop):
            raise BadRequest(f"`stop` is {stop[:40]!r}, which no completion ends with.")
        answer = Answer(text=fields.get("text", str), stop=cast(Stop, stop), error=fields.maybe("error", str))
        return self._accept(fields.get("ask", str), answer)

    def _accept(self, ask: str, answer: Answer) -> Reply:
        """Hand in the answer to an ask; the second answer to one is nobody's any more."""
        if self._asks.pop(ask, None) is None:
            return {}
        return self._told(self._carryover.answer(ask, answer))

    def _run(self, request: Request) -> None:
        """Get the summary ourselves, while other requests are served."""
        ask = self._asks.get(request.fields.get("ask", str))
        if ask is None:
            raise BadRequest("Nothing of that name is asked for.")
        threading.Thread(target=self._summarise, args=(request.id, ask), daemon=True).start()

    def _summarise(self, request: int, ask: Ask) -> None:
        add_environment()  # an SDK may be there
        from carryover.completion import Prompt, complete

        prompt = Prompt(system=ask.system, text=ask.prompt, max_tokens=ask.max_tokens, seconds=ask.seconds)
        answer = complete(prompt, load(None, os.environ), os.environ)
        self._inbox.put(partial(self._summarised, request, ask, answer))

    def _summarised(self, request: int, ask: Ask, answer: Answer) -> None:
        reply = self._guarded("answer", partial(self._accept, ask.id, answer))
        self._output.send({"id": request, **reply})

    # ---------------------------------------------------------------- what is said

    def _told(self, outcome: Outcome) -> Reply:
        reply: Reply = {
            "notices": [_notice(notice) for notice in outcome.notices],
            "text": outcome.text,
            "level": outcome.level,
            "status": outcome.status,
            "farewell": outcome.farewell,
        }
        if outcome.ask:
            self._asks[outcome.ask.id] = outcome.ask
            reply["ask"] = _ask(outcome.ask)
        return reply

    def _edited(self) -> None:
        reply = self._guarded("read an edit", lambda: self._told(self._carryover.edited()))
        for notice in reply.get("notices", ()):
            self._output.send({"event": "notice", **notice})
        if reply.get("status"):
            self._output.send({"event": "status", "text": reply["status"]})

    def _follow(self) -> None:
        """Watch the note where somebody may edit it meanwhile; its folder may only just exist."""
        session = self._session
        if session is None or session.mode not in ("tui", "rpc") or session.nested:
            return
        try:
            self._watch.follow(find(session.cwd, os.environ).folder)
        except ProjectError:
            self._watch.stop()


def _mode(name: str) -> Mode:
    if name not in get_args(Mode):
        raise BadRequest(f"`mode` is {name[:40]!r}, which pi has none of.")
    return cast(Mode, name)


def _missing(name: str) -> NoReturn:
    raise BadRequest(f"`{name}` is missing.")


def _notice(notice: Notice) -> Reply:
    return {"level": notice.level, "text": notice.text}


def _ask(ask: Ask) -> Reply:
    from carryover.completion import available

    return {
        "id": ask.id,
        "runner": "child" if available(load(None, os.environ)) else "host",
        "system": ask.system,
        "prompt": ask.prompt,
        "maxTokens": ask.max_tokens,
        "seconds": ask.seconds,
        "model": ask.model,
        "line": ask.line,
    }


def _log(error: BaseException) -> None:
    """Where it happened, and what; the message is left out, since it may hold text of the user's."""
    import traceback

    traceback.print_tb(error.__traceback__, file=sys.stderr)
    print(type(error).__name__, file=sys.stderr)


def _read(bridge: Bridge, inbox: Inbox) -> NoReturn:
    for line in lines(sys.stdin.buffer):
        inbox.put(partial(bridge.hear, line))
    inbox.put(None)
    time.sleep(PATIENCE)
    os._exit(0)


def main() -> NoReturn:
    """Serve the extension on standard input and output until the input ends."""
    output, inbox = Output(), Inbox()
    bridge = Bridge(Carryover(os.environ), output, inbox)
    threading.Thread(target=_read, args=(bridge, inbox), daemon=True).start()
    while (act := inbox.get()) is not None:
        act()
    bridge.lost()
    os._exit(0)  # whatever the other threads are at: nobody waits for it any more


if __name__ == "__main__":
    main()
