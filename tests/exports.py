"""Reads what a page's export sends."""

from __future__ import annotations

import csv
import io
from typing import Any

from tests.fixtures.rest import Rest


def file_of(rest: Rest, path: str, **query: str) -> str:
    """Give the text of the file that the page sends for download."""
    response: Any = rest.client.get(path, query)
    assert response.status_code == 200
    assert response["Content-Disposition"].startswith("attachment; ")
    return b"".join(response.streaming_content).decode()


def table(text: str) -> list[dict[str, str]]:
    """Give the rows of a CSV file by their headings."""
    return list(csv.DictReader(io.StringIO(text.lstrip("\ufeff"))))
