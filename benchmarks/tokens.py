"""What carryover costs in tokens: the block in each session, the tool's schema in each request, one call at the end.

Tokens are the product's own estimate, which errs high. Where `tiktoken` and its vocabulary are installed, o200k counts
beside it.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from _child import PACKAGE
from _measure import Table, benchmark
from _scene import NOTE, NOTE_IN_CHINESE
from carryover.memory.brief import Request, brief
from carryover.memory.events import Event
from carryover.memory.state import EMPTY, State, fold
from carryover.session import summary
from carryover.session.saver import MESSAGES
from carryover.session.transcripts.base import Message, Tail
from carryover.settings import Settings
from carryover.text import tokens

HEAD = ("", "tokens, estimated", "tokens, o200k", "characters", "bound", "")
#: Of a project with nothing on record.
EMPTY_BOUND = 60
SETTINGS = Settings()


def main() -> None:
    with benchmark(__doc__, rounds=20) as (table, options):
        table.head = HEAD
        count = Count(table, tokenizer())
        count.add("block, nothing saved yet", block(EMPTY), EMPTY_BOUND)
        for language, note in (("English", NOTE), ("Chinese", NOTE_IN_CHINESE)):
            count.add(
                f"block, a note of {len(note.splitlines())} lines, {language}",
                block(saved(note)),
                SETTINGS.block_tokens,
            )
        count.add("of these, the frame around the note", frame(block(saved(NOTE))))
        count.add("block, a note of 500 items", block(saved(NOTE * 50)), SETTINGS.block_tokens)
        tool = Tool.from_extension()
        count.add("tool save_carryover, its schema", tool.schema)
        count.add("tool save_carryover, in the system prompt", tool.prompt)
        for language, note, words in (
            ("en", NOTE, "the retry count is lost "),
            ("zh", NOTE_IN_CHINESE, "重试次数丢失了，"),
        ):
            prompt = summary.request(note, long_tail(words), SETTINGS.summary_words, language)
            name = {"en": "English", "zh": "Chinese"}[language]
            count.add(f"call at the end, input at its most, {name}", f"{prompt.system}\n{prompt.text}")
        most = f"{prompt.max_tokens} tokens"
        table.add("call at the end, output", f"{SETTINGS.summary_words} words asked for", bound=f"≤ {most}")
        table.notes.append(f"The call's input has at most {summary.REQUEST_LENGTH:,} characters.")
        table.notes.append("There is no call where the agent's own note stands, nor with `summary.mode` off.")
        if os.environ.get("CARRYOVER_PI_HOSTS"):
            real(table, options.folder, tool)
        else:
            table.notes.append(
                "The tool is read from the extension's source; a real pi's request stands beside it where there is one."
            )


# ---------------------------------------------------------------- counting


@dataclass(frozen=True, slots=True)
class Count:
    table: Table
    o200k: Callable[[str], int] | None

    def add(self, what: str, text: str, bound: int | None = None) -> None:
        cost = tokens(text)
        self.table.add(
            what,
            f"{cost:,}",
            f"{self.o200k(text):,}" if self.o200k else "",
            figure=f"{len(text):,}",
            bound=f"≤ {bound}" if bound else "",
            holds=cost <= bound if bound else None,
        )


def tokenizer() -> Callable[[str], int] | None:
    try:
        import tiktoken  # type: ignore[import-not-found,unused-ignore]

        encoding = tiktoken.get_encoding("o200k_base")
    except (ImportError, OSError):  # not installed, or its vocabulary cannot be fetched
        return None
    return lambda text: len(encoding.encode(text, disallowed_special=()))


# ---------------------------------------------------------------- what is counted


def saved(note: str) -> State:
    return fold(
        [
            Event(
                {"id": "01K0000000" + "0" * 16, "op": "note", "at": "2026-06-01T08:00", "source": "agent", "text": note}
            )
        ]
    )


def block(state: State) -> str:
    return brief(state, Request(project="my-project", tokens=SETTINGS.block_tokens)).text


def frame(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith(">"))


def long_tail(words: str) -> Tail:
    """More than a request may hold."""
    messages = tuple(Message("user" if number % 2 else "assistant", words * 60) for number in range(MESSAGES))
    return Tail(messages, MESSAGES, False, None, False, (), None, 0, 0)


@dataclass(frozen=True, slots=True)
class Tool:
    """What the model is sent of the tool: its schema with each request, and lines in pi's system prompt."""

    schema: str
    prompt: str

    @classmethod
    def from_extension(cls) -> Tool:
        """
        Read from the source.

        Raises:
            ValueError: it no longer registers the tool in the way that this reads.
        """
        source = (PACKAGE / "hosts" / "pi" / "extension" / "index.ts").read_text(encoding="utf-8")
        found = re.search(
            r'name: "(\w+)",\n.*?description:\n?(.*?),\n\s*promptSnippet: (".*?"),\n\s*promptGuidelines: \[(.*?)\],\n'
            r"\s*parameters: (\{.*?\n      \}),\n",
            source,
            re.S,
        )
        if found is None:
            raise ValueError("the extension's source does not register its tool as expected")
        parameters = re.sub(r",(\s*[}\]])", r"\1", re.sub(r"(\w+):(?= [\"{\[])", r'"\1":', found[5]))
        function = {"name": found[1], "description": strings(found[2]), "parameters": json.loads(parameters)}
        schema = json.dumps({"type": "function", "function": function}, ensure_ascii=False, separators=(",", ":"))
        return cls(schema, f"- {found[1]}: {strings(found[3])}\n- {strings(found[4])}\n")


def strings(source: str) -> str:
    """The text of string literals that are added to one another."""
    return "".join(json.loads(one) for one in re.findall(r'"(?:[^"\\]|\\.)*"', source))


def real(table: Table, folder: Path, tool: Tool) -> None:
    """What both versions of pi sent the fake model, of the tool."""
    from _pi import hosts, turns

    for host in hosts():
        _, _, tools = turns(host, folder, 1, NOTE)
        sent = next(one for one in tools if one["function"]["name"] == "save_carryover")
        schema = json.dumps(sent, ensure_ascii=False, separators=(",", ":"))
        same = " (the same as above)" if schema == tool.schema else ""
        table.add(f"the schema as pi {host.version} sent it{same}", f"{tokens(schema):,}", figure=f"{len(schema):,}")


if __name__ == "__main__":
    main()
