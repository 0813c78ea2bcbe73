"""One event as one line: JSON, a checksum, a signature.

A line is ``{…,"sum":"9f2c01ab","mac":"…"}`` and a newline. ``sum`` is the CRC-32 of the line without ``sum`` and
``mac``; it tells a torn or glued line from a whole one and is no protection against anybody. ``mac`` is an HMAC-SHA256
of the same bytes under the user's own key, cut to 128 bits: it tells "written here" from "claims to be".
"""

from __future__ import annotations

import hashlib
import json
import os
from binascii import crc32
from typing import Any

from carryover.memory.events import Event

VERSION = 1
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"  # Crockford's base 32, https://github.com/ulid/spec
#: Where an id's clock may stand at the most (year 4429), so that a hostile line cannot use up the ids above it.
LAST_SANE = "3" + "Z" * 25

_VALUE = {letter: value for value, letter in enumerate(ALPHABET)}
_SUM = b',"sum":"'
_MAC = b'","mac":"'
_dumps = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


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
        Damaged: no checksum, a wrong one, not JSON, or no usable id.
    """
    cut = line.rfind(_SUM)
    if cut < 0:
        raise Damaged("no checksum")
    if b"%08x" % crc32(b"}", crc32(line[:cut])) != line[cut + 8 : cut + 16]:
        raise Damaged("wrong checksum")
    try:
        fields = json.loads(line.decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise Damaged(f"not JSON: {type(error).__name__}") from None
    event = Event(fields, line)
    if not is_id(event.id):
        raise Damaged("no usable id")
    return event


def checksum(line: bytes) -> str:
    """The checksum that a whole line carries; empty when it carries none."""
    cut = line.rfind(_SUM)
    return line[cut + 8 : cut + 16].decode("ascii", "replace") if cut >= 0 else ""


def signature(payload: bytes, key: bytes) -> bytes:
    import hmac  # only writers and those who doubt a signature need it

    return hmac.digest(key, payload, "sha256")[:16].hex().encode()


def signed_with(event: Event, key: bytes) -> bool:
    """Whether the event's line was signed with *key* as it stands."""
    import hmac

    cut = event.line.rfind(_SUM)
    claimed = event.get("mac")
    if cut < 0 or not isinstance(claimed, str):
        return False
    return hmac.compare_digest(signature(event.line[:cut] + b"}", key), claimed.encode("utf-8", "replace"))


# ---------------------------------------------------------------- ids


def is_id(text: str) -> bool:
    """Whether *text* is a ULID whose clock stands before the year 4429."""
    return len(text) == 26 and text <= LAST_SANE and all(letter in _VALUE for letter in text)


def next_id(last: str, milliseconds: int) -> str:
    """
    A ULID greater than *last*, whatever the clock says.

    Where the clock stands behind the last id, the last id plus one is taken: order is more than time.
    """
    fresh = (milliseconds << 80) | int.from_bytes(os.urandom(10), "big")
    return _spell(max(fresh, _read(last) + 1 if last else 0))


def derived_id(milliseconds: int, content: bytes) -> str:
    """A ULID that the same content at the same time always gets: for entries that came without one."""
    return _spell((milliseconds << 80) | int.from_bytes(hashlib.sha256(content).digest()[:10], "big"))


def _spell(number: int) -> str:
    return "".join(ALPHABET[(number >> shift) & 31] for shift in range(125, -1, -5))


def _read(text: str) -> int:
    number = 0
    for letter in text:
        number = number << 5 | _VALUE[letter]
    return number
