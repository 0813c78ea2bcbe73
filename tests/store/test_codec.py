from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carryover.errors import StoreUnavailable
from carryover.memory.events import ALPHABET, LAST_ID, Event, is_id
from carryover.store.codec import Damaged, decode, derived_id, encode, next_id, salvage, signed_with

KEY = b"k" * 32
ID = "01JDZZZZZZZZZZZZZZZZZZZZZZ"
DAY = 86_400_000

text = st.text(st.characters(exclude_categories=["Cs"]))
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
unknown_fields = st.dictionaries(text.filter(lambda name: name not in ("v", "id", "op")), json_values, max_size=6)


def event(**more: Any) -> dict[str, Any]:
    return {"v": 1, "id": ID, "op": "note", "text": "- [ ] finish the parser", **more}


@given(fields=unknown_fields, key=st.none() | st.binary(min_size=32, max_size=32))
def test_an_event_comes_back_as_it_was_written_unknown_fields_included(
    fields: dict[str, Any], key: bytes | None
) -> None:
    written = {"v": 1, "id": ID, "op": "of a later version", **fields}

    line = encode(written, key)

    assert decode(line[:-1]).fields == written
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1


def test_an_event_that_is_encoded_again_is_the_same_line() -> None:
    line = encode(event(op="teleport", to={"sum": "inner", "mac": "inner"}, sum="mine"), KEY)

    again = encode(decode(line[:-1]).fields, KEY)

    assert again == line


def test_every_changed_byte_of_a_line_is_noticed() -> None:
    line = encode(event(), None)[:-1]

    for at in range(len(line)):
        changed = bytearray(line)
        changed[at] ^= 1
        with pytest.raises(Damaged):
            decode(bytes(changed))


def test_every_beginning_of_a_line_is_damaged() -> None:
    line = encode(event(), KEY)[:-1]

    for length in range(len(line)):
        with pytest.raises(Damaged):
            decode(line[:length])


@pytest.mark.parametrize("tail", [b"x", b'{"v":1}', b"\0", b"}"])
def test_what_stands_behind_an_event_makes_its_line_damaged_but_hides_it_not(tail: bytes) -> None:
    line = encode(event(), KEY)[:-1] + tail

    with pytest.raises(Damaged, match="glued"):
        decode(line)
    assert salvage(line).fields == event()


@pytest.mark.parametrize("space", [b"\r", b" ", b"\t \r"])
def test_white_space_behind_an_event_is_no_damage(space: bytes) -> None:
    assert decode(encode(event(), KEY)[:-1] + space).fields == event()


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"garbage",
        b"\0" * 200,
        b"null",
        b"{}",
        b'{"sum":"00000000"}',
        b'{"v":1,"id":"' + ID.encode() + b'","op":"note"}',
        b"\xff\xfe" * 20,
        b'"sum":"' * 1000,
    ],
)
def test_what_is_no_event_is_damaged_and_nothing_worse(line: bytes) -> None:
    with pytest.raises(Damaged):
        decode(line)


@pytest.mark.parametrize(
    "payload", [b'[{"a":1}', b'["', b'{"a":' + b"[" * 100_000, b'{"a":\xff}', b'{"a":1' * 500 + b"}"]
)
def test_a_true_checksum_does_not_make_an_event_of_anything(payload: bytes) -> None:
    from binascii import crc32

    body = payload[:-1]
    line = body + b',"sum":"%08x"}' % crc32(body + b"}")

    with pytest.raises(Damaged):
        decode(line)


# ---------------------------------------------------------------- signatures


def test_a_signature_holds_for_the_key_that_made_it() -> None:
    signed = decode(encode(event(), KEY)[:-1])
    unsigned = decode(encode(event(), None)[:-1])

    assert signed_with(signed, KEY)
    assert not signed_with(signed, b"another key".ljust(32))
    assert not signed_with(unsigned, KEY)


def test_a_changed_text_with_a_mended_checksum_is_not_signed() -> None:
    line = encode(event(), KEY)
    forged = encode(event(text="- [ ] delete everything"), None)[:-3] + line[line.rfind(b'","mac"') : -1]

    assert decode(forged).text == "- [ ] delete everything"
    assert not signed_with(decode(forged), KEY)


def test_a_text_put_behind_the_signature_is_not_believed() -> None:
    line = encode(event(), KEY)[:-3]
    forged = line + b'","text":"- [ ] delete everything"}'

    with pytest.raises(Damaged):
        decode(forged)
    assert not signed_with(Event({"text": "- [ ] delete everything"}, forged), KEY)


def test_an_event_without_a_line_is_not_signed() -> None:
    assert not signed_with(Event(event()), KEY)


# ---------------------------------------------------------------- ids


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x",
        ID.lower(),
        ID[:-1],
        ID + "0",
        "../../../../../../etc/passwd"[:26],
        "01JDZZZZZZZZZZZZZZZZZZZZZ\n",
        "01JDZZZZZZZZZZZZZZZZZZZZZI",
        "٠١JDZZZZZZZZZZZZZZZZZZZZZZ",
        "4" + "0" * 25,
        "Z" * 26,
    ],
)
def test_a_hostile_id_is_no_id(name: str) -> None:
    assert not is_id(name)
    with pytest.raises(Damaged, match="no usable id"):
        decode(encode(event(id=name), None)[:-1])


@pytest.mark.parametrize("value", [7, None, ["x"], {"id": ID}, True])
def test_an_id_of_another_type_is_no_id(value: object) -> None:
    with pytest.raises(Damaged, match="no usable id"):
        decode(encode(event(id=value), None)[:-1])


@given(clocks=st.lists(st.integers(-DAY, 253_402_300_800_000), min_size=1, max_size=30))
def test_ids_grow_whatever_the_clock_says(clocks: list[int]) -> None:
    ids = [""]

    for clock in clocks:
        ids.append(next_id(ids[-1], clock))

    assert all(is_id(one) for one in ids[1:])
    assert ids == sorted(set(ids))


def test_an_id_carries_the_clock_where_the_clock_runs_forward() -> None:
    earlier, later = next_id("", 1_000_000), next_id(next_id("", 1_000_000), 2_000_000)

    assert later[:10] > earlier[:10]
    assert later[:10] == derived_id(2_000_000, b"")[:10]


def test_a_clock_set_back_a_day_gives_an_id_soon_after_the_last() -> None:
    now = next_id("", 1_764_500_000_000)

    after = next_id(now, 1_764_500_000_000 - DAY)

    assert 0 < int.from_bytes(_bytes(after), "big") - int.from_bytes(_bytes(now), "big") <= 2**64


def test_two_copies_of_a_log_do_not_go_on_with_the_same_id() -> None:
    last = next_id("", 1_764_500_000_000)

    assert len({next_id(last, 1_764_500_000_000 - DAY) for _ in range(100)}) == 100


def test_a_log_whose_ids_are_used_up_is_said_to_be_so() -> None:
    last_but_one = LAST_ID[:-1] + "Y"

    assert next_id(last_but_one, 0) == LAST_ID
    with pytest.raises(StoreUnavailable, match=f"cannot save: the event {LAST_ID} in carryover.log claims the last id"):
        next_id(LAST_ID, 0)


@given(st.integers(-(2**60), 2**60), st.binary())
def test_a_derived_id_is_always_an_id_and_always_the_same(milliseconds: int, content: bytes) -> None:
    assert is_id(derived_id(milliseconds, content))
    assert derived_id(milliseconds, content) == derived_id(milliseconds, content)


def _bytes(ulid: str) -> bytes:
    number = 0
    for letter in ulid:
        number = number << 5 | ALPHABET.index(letter)
    return number.to_bytes(17, "big")
