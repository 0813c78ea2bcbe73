"""What was said, without what hosts, hooks and we ourselves put around it."""

from __future__ import annotations

import re

from carryover.text import clean, strip_blocks

#: Elements that hosts and hooks write into a person's message. Nothing within them is the person's own.
_HOOKS = (
    "command-args",
    "command-contents",
    "command-message",
    "command-name",
    "environment_context",
    "environment_details",
    "local-command-caveat",
    "local-command-stderr",
    "local-command-stdout",
    "session-start-hook",
    "system-reminder",
    "user-prompt-submit-hook",
)
#: Elements that stand for something the person named: a file or a skill. The name stays, the contents go.
_NAMED = ("file", "skill")

#: "/model" or "/plan the week", and not "/usr/lib is full".
_COMMAND = re.compile(r"/[A-Za-z][\w:.-]*(?:[ \t][^\n]*)?")


def user_words(text: str) -> str:
    """A user message's own words; empty when there are none, as in a slash command."""
    words = agent_words(text)
    for tag in _HOOKS:
        words = _without(words, tag, named=False)
    for tag in _NAMED:
        words = _without(words, tag, named=True)
    words = words.strip()
    return "" if _COMMAND.fullmatch(words) else words


def agent_words(text: str) -> str:
    """An agent's words. Our own block is taken out, so that memory does not live on its echo."""
    return strip_blocks(clean(text)).strip()


def _without(text: str, tag: str, *, named: bool) -> str:
    opening = re.compile(rf"<{tag}\b([^<>]*)>")
    closing = f"</{tag}>"
    kept: list[str] = []
    position = 0
    while (found := opening.search(text, position)) and (end := text.find(closing, found.end())) >= 0:
        kept.append(text[position : found.start()])
        if named and (name := re.search(r'\bname="([^"]*)"', found[1])):
            kept.append(f"[{name[1]}]")
        position = end + len(closing)
    return "".join(kept) + text[position:]
