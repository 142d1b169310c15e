"""A list as a file: made as it is sent, in pieces, on every server."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest
from asgiref.sync import async_to_sync
from django.http import StreamingHttpResponse

from portal.export import csv_file, yaml_file


class Source:
    """Rows without end, and how many were asked for."""

    def __init__(self) -> None:
        self.asked = 0

    def __iter__(self) -> Iterator[tuple[int]]:
        for number in count():
            self.asked += 1
            yield (number,)


@async_to_sync
async def first_part(response: StreamingHttpResponse) -> bytes:
    async for part in response:
        return part
    return b""


@async_to_sync
async def whole(response: StreamingHttpResponse) -> bytes:
    return b"".join([part async for part in response])


def test_a_file_is_sent_while_it_is_made() -> None:
    source = Source()

    part = first_part(csv_file("x", ("number",), source))

    assert part.decode().startswith("\ufeffnumber\r\n0\r\n1\r\n")
    assert 0 < source.asked < 5000


@pytest.mark.parametrize("rows", [0, 1, 1200])
def test_a_file_is_whole_whoever_serves_it(rows: int) -> None:
    made = [csv_file("x", ("number",), [(number,) for number in range(rows)]) for _ in range(2)]

    text = whole(made[0]).decode()

    assert text.splitlines() == ["\ufeffnumber", *map(str, range(rows))]
    assert b"".join(made[1]).decode() == text


def test_documents_are_told_apart() -> None:
    assert whole(yaml_file("x", ["a: 1\n", "b: 2\n"])) == b"---\na: 1\n---\nb: 2\n"
