from __future__ import annotations

import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from carryover.session.transcripts import lines
from carryover.session.transcripts.lines import Line, backwards, forwards


class CountingFile(io.BytesIO):
    """Knows how many bytes were read from it."""

    count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        data = super().read(size)
        self.count += len(data)
        return data


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BLOCK", 4)
    monkeypatch.setattr(lines, "LONG", 40)


def whole(data: bytes) -> list[bytes]:
    return data.split(b"\n")


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), min_size=1, max_size=8))
def test_backwards_gives_every_line_once_last_first(pieces: list[bytes]) -> None:
    data = b"\n".join(pieces)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK", 4)
        found = list(backwards(io.BytesIO(data), 0, len(data)))

    assert [line.head for line in reversed(found)] == whole(data)
    assert [data[line.start : line.end].rstrip(b"\n") for line in found] == [line.head for line in found]
    assert [line.finished for line in found] == [False] + [True] * (len(found) - 1)


@given(st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b"")), min_size=1, max_size=8))
def test_forwards_gives_every_finished_line_once(pieces: list[bytes]) -> None:
    data = b"\n".join(pieces)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(lines, "BLOCK", 4)
        found = list(forwards(io.BytesIO(data), 0, len(data)))

    assert [line.head for line in found] == whole(data)[:-1]
    assert all(data[line.end - 1 : line.end] == b"\n" for line in found)


@pytest.mark.usefixtures("small")
def test_of_a_long_line_only_the_ends_are_held() -> None:
    data = b"a\n" + b"<" + b"x" * 1000 + b">\nb\n"

    back = list(backwards(io.BytesIO(data), 0, len(data)))[2]
    forth = list(forwards(io.BytesIO(data), 0, len(data)))[1]

    for line in (back, forth):
        assert (line.start, line.end) == (2, 1005)
        assert line.head.startswith(b"<x")
        assert line.tail.endswith(b"x>")
        assert len(line.head) + len(line.tail) <= 4 * lines.BLOCK


def test_the_last_lines_cost_the_same_whatever_comes_before() -> None:
    file = CountingFile(b"y" * 99 + b"\n")
    file.write((b"x" * 99 + b"\n") * 100_000)

    last = next(backwards(file, 0, 10_000_000))

    assert last == Line(10_000_000, 10_000_000, b"", finished=False)
    assert file.count == lines.BLOCK
