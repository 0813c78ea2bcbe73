"""The command line. This module is its border: streams, exit status, and errors as one line."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from carryover.errors import CarryoverError
from carryover.messages import locale_language, say
from carryover.text import clean

#: Exit status: nothing found or refused; wrong use. Interrupted is the shells' own number for it.
REFUSED, WRONG_USE, INTERRUPTED = 1, 2, 130


def run() -> NoReturn:
    """
    Run one command and end the process at once: what it wrote is flushed, and to take the interpreter apart would last
    a sixth as long again as to show the note.
    """
    status = main()
    sys.stderr.flush()
    os._exit(status)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit status: 0 success, 1 nothing found or refused, 2 wrong use."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    _let_every_character_pass()
    try:
        status = _show() if words in ([], ["show"]) and not _completing() else _parse(words)
        sys.stdout.flush()
        return status
    except CarryoverError as error:
        return _complain(str(error), REFUSED)
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        # The reader has seen enough. What is still in the buffer must not be tried again at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return REFUSED
    except OSError as error:
        return _complain(f"{error.filename or 'output'}: {error.strerror}", REFUSED)


def _show() -> int:
    """What people call most and wait for. Parsing no options costs half as much as everything else together."""
    from carryover.cli.place import find
    from carryover.cli.preview import show

    place = find()
    place.warn_of_settings()
    return show(place)


def _parse(words: list[str]) -> int:
    import click

    from carryover.cli.commands import carryover

    try:
        return int(carryover.main(words, prog_name="carryover", standalone_mode=False) or 0)
    except click.UsageError as error:
        command = error.ctx.command_path if error.ctx else "carryover"
        language = locale_language(os.environ)
        return _complain(say("cli.usage", language, reason=error.format_message(), command=command), WRONG_USE)
    except click.ClickException as error:
        return _complain(error.format_message(), REFUSED)
    except click.Abort:
        return INTERRUPTED


def _completing() -> bool:
    """Whether it is the shell that asks, for what may follow."""
    return "_CARRYOVER_COMPLETE" in os.environ


def _complain(reason: str, status: int) -> int:
    """Tell in one line on standard error why it did not work."""
    print("carryover:", clean(" ".join(reason.split())), file=sys.stderr)
    return status


def _let_every_character_pass() -> None:
    """
    A terminal that lacks a character shows its escape; printing a note never fails over it. A stream that was closed
    takes everything and gives nothing.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115 - for as long as we run
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):  # a test may have put its own in the place
            stream.reconfigure(errors="backslashreplace")
