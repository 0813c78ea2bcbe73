"""One event as one line: JSON, a checksum, a signature.

A line is ``{…,"sum":"9f2c01ab","mac":"…"}`` and a newline. ``sum`` is the CRC-32 of the line without ``sum`` and
``mac``; it tells a torn or glued line from a whole one and is no protection against anybody. ``mac`` is an HMAC-SHA256
of the same bytes under the user's own key, cut to 128 bits: it tells "written here" from "claims to be". Nothing else
may stand behind ``sum``: what neither of the two covers is not believed.
"""

from __future__ import annotations

import json
import os
import re
from binascii import crc32
from typing import Any

from carryover.errors import StoreUnavailable
from carryover.memory.events import ALPHABET, LAST_ID, Event, is_id

VERSION = 1

_VALUE = {letter: value for value, letter in enumerate(ALPHABET)}
_SUM = b',"sum":"'
_SUM_END = len(_SUM) + 8
_MAC = b'","mac":"'
_END = re.compile(rb'(?:","mac":"[0-9a-f]*)?"}\s*')
_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode
_parse = json.JSONDecoder().raw_decode  # without the search for white space around, which nobody wrote


class Damaged(ValueError):
    """The line is not an event of ours, or not a whole one; the text says which."""


def encode(fields: dict[str, Any], key: bytes | None) -> bytes:
    """The line of an event, newline included. Signed when there is a *key*.

    Text must hold no lone surrogates: `carryover.text.clean` has seen to that.
    """
    payload = _dumps(fields).encode("utf-8")
    line = payload[:-1] + _SUM + b"%08x" % crc32(payload)
    if key is not None:
        line += _MAC + signature(payload, key)
    return line + b'"}\n'


def decode(line: bytes) -> Event:
    """
    The event of a *line* (without its newline).

    Raises:
        Damaged: no checksum, a wrong one, something behind it, not JSON, or no usable id.
    """
    cut = line.rfind(_SUM)
    event = _whole_until(cut, line)
    if not _END.fullmatch(line, cut + _SUM_END):
        raise Damaged("cut short, or glued to something")
    return event


def salvage(line: bytes) -> Event:
    """
    The event that is whole up to its checksum, whatever came of the end of the *line*.

    Raises:
        Damaged: there is none.
    """
    return _whole_until(line.rfind(_SUM), line)


def _whole_until(cut: int, line: bytes) -> Event:
    if cut < 0:
        raise Damaged("no checksum")
    payload = line[:cut] + b"}"
    if b"%08x" % crc32(payload) != line[cut + 8 : cut + 16]:
        raise Damaged("wrong checksum")
    try:
        text = payload.decode("utf-8")
        fields, end = _parse(text)
    except (ValueError, RecursionError) as error:
        raise Damaged(f"not JSON: {type(error).__name__}") from None
    if end != len(text) or not isinstance(fields, dict):
        raise Damaged("not an event")
    event = Event(fields, line)
    if not is_id(event.id):
        raise Damaged("no usable id")
    return event


def signature(payload: bytes, key: bytes) -> bytes:
    import hmac  # only writers and those who doubt a signature need it

    return hmac.digest(key, payload, "sha256")[:16].hex().encode()


def signed_with(event: Event, key: bytes) -> bool:
    """Whether the event's line was signed with *key* as it stands."""
    import hmac

    cut = event.line.rfind(_SUM)
    expected = _MAC + signature(event.line[:cut] + b"}", key) + b'"}'
    return cut >= 0 and hmac.compare_digest(event.line[cut + _SUM_END :].rstrip(), expected)


# ---------------------------------------------------------------- ids


def next_id(last: str, milliseconds: int) -> str:
    """
    A ULID greater than *last*, whatever the clock says.

    Where the clock stands behind the last id, or where no clock can stand, the last id and a little more is taken:
    order is more than time. How much more is chance, so that two copies of one log do not go on with the same id.

    Raises:
        StoreUnavailable: a line in the log has used up the ids. No clock does that.
    """
    fresh = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    number = _read(last) + 1 if last else 0
    if number < fresh <= _GREATEST:
        number = fresh
    elif last:
        number += int.from_bytes(os.urandom(8), "big") % max(1, _GREATEST - number >> 24)
    if number > _GREATEST:
        raise StoreUnavailable(f"cannot save: the event {last} in carryover.log claims the last id; take its line out")
    return _spell(number)


def derived_id(milliseconds: int, content: bytes) -> str:
    """A ULID that the same content at the same time always gets: for entries that came without one."""
    clock = milliseconds if 0 <= milliseconds <= _GREATEST >> 80 else 0
    from hashlib import sha256  # 3 ms to import

    return _spell((clock << 80) | int.from_bytes(sha256(content).digest()[:10], "big"))


def _spell(number: int) -> str:
    return "".join(ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))


def _read(text: str) -> int:
    number = 0
    for letter in text:
        number = number << 5 | _VALUE[letter]
    return number


_GREATEST = _read(LAST_ID)
