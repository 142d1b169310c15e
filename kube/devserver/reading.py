"""get and list: one object, or a page of them as they were at one resourceVersion."""

from __future__ import annotations

import base64
import binascii
import heapq
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

import msgspec

from kube.devserver.answer import Answer
from kube.devserver.history import TooOld
from kube.devserver.request import Request, Target
from kube.devserver.selectors import Matcher, matcher
from kube.devserver.served import Object, Served
from kube.devserver.state import State
from kube.devserver.status import ApiError, bad_request, expired, not_found
from kube.devserver.store import Collection, Record
from kube.devserver.tables import table


def wants_table(request: Request) -> bool:
    return "as=Table" in request.accept and "v=v1" in request.accept


def included(request: Request) -> str:
    return request.query.get("includeObject", "Metadata")


def get(state: State, request: Request, target: Target, served: Served) -> Answer:
    """Answer with one object. Raise 404."""
    record = state.get(served, (target.namespace if served.namespaced else "", target.name))
    if record is None:
        raise not_found(target.group, target.plural, target.name)
    if wants_table(request):
        content = record.object
        metadata = {"resourceVersion": content["metadata"]["resourceVersion"]}
        return Answer.of(table(served, [content], metadata, include=included(request)))
    return Answer(record.raw)


@dataclass(frozen=True)
class _Position:
    """A continue token: where the next page begins, and at which resourceVersion the list is read."""

    version: int
    after: tuple[str, str]

    def encode(self) -> str:
        return base64.urlsafe_b64encode(msgspec.json.encode([self.version, *self.after])).decode().rstrip("=")

    @classmethod
    def decode(cls, token: str) -> _Position:
        try:
            padded = token + "=" * (-len(token) % 4)
            version, namespace, name = msgspec.json.decode(
                base64.urlsafe_b64decode(padded), type=tuple[int, str, str]
            )
        except (binascii.Error, ValueError, msgspec.DecodeError) as error:
            raise bad_request(f"continue key is not valid: {error}") from error
        return cls(version, (namespace, name))


@dataclass(frozen=True)
class Page:
    """Some records of a list, and what comes after them."""

    records: list[Record]
    version: int
    continue_token: str
    remaining: int | None

    def metadata(self) -> Object:
        found: Object = {"resourceVersion": str(self.version)}
        if self.continue_token:
            found["continue"] = self.continue_token
        if self.remaining is not None:
            found["remainingItemCount"] = self.remaining
        return found


def as_number(value: str, name: str) -> int:
    """Read a whole number of the query. Raise 400."""
    if not value.isdecimal():
        raise bad_request(f'invalid value for {name}: "{value}"')
    return int(value)


def check_not_ahead(state: State, version: int) -> None:
    """Refuse a resourceVersion that was never given out."""
    if version > state.store.version:
        message = f"Too large resource version: {version}, current: {state.store.version}"
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        raise ApiError(504, "Timeout", message, details={"causes": [cause], "retryAfterSeconds": 1})


def select(state: State, request: Request, target: Target, served: Served) -> Page:
    """Read the page a list request asks for. Raise 410 for a continue token from before what is remembered."""
    query = request.query
    test = matcher(query.get("labelSelector", ""), query.get("fieldSelector", ""), served)
    limit = as_number(query.get("limit") or "0", "limit")
    collection = state.store.collection(served.collection)
    namespace = target.namespace if served.namespaced and target.namespace else None
    if token := query.get("continue"):
        position = _Position.decode(token)
        rest = _as_it_was(collection, namespace, position)
        version = position.version
    else:
        version = as_number(query.get("resourceVersion") or "0", "resourceVersion")
        check_not_ahead(state, version)
        version = state.store.version
        rest = collection.within(namespace)
    records, is_last = _cut(rest, test, limit=limit)
    if is_last:
        return Page(records, version, "", None)
    last = records[-1].key
    # Under a selector nobody counts.
    remaining = None if test is not None else collection.count_after(last, namespace)
    return Page(records, version, _Position(version, last).encode(), remaining)


def _as_it_was(collection: Collection, namespace: str | None, position: _Position) -> Iterator[Record]:
    """Give the records after a position as they were at its resourceVersion."""
    try:
        then = collection.history.undone(position.version)
    except TooOld:
        raise expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list "
            "without the continue parameter."
        ) from None
    changed = sorted(key for key in then if key > position.after and namespace in (None, key[0]))
    untouched = (
        record for record in collection.within(namespace, after=position.after) if record.key not in then
    )
    former = (record for key in changed if (record := then[key]) is not None)
    return heapq.merge(untouched, former, key=lambda record: record.key)


def _cut(records: Iterator[Record], test: Matcher | None, *, limit: int) -> tuple[list[Record], bool]:
    """Take a page off the records; say whether that was all."""
    if test is not None:
        records = (record for record in records if test(record.object))
    if not limit:
        return list(records), True
    page = list(islice(records, limit))
    return page, next(records, None) is None


def list_(state: State, request: Request, target: Target, served: Served) -> Answer:
    """Answer with a list, as JSON or as a Table."""
    page = select(state, request, target, served)
    if wants_table(request):
        objects = [record.object for record in page.records]
        return Answer.of(table(served, objects, page.metadata(), include=included(request)))
    head = {"kind": served.list_name, "apiVersion": served.api_version, "metadata": page.metadata()}
    opening = msgspec.json.encode(head)[:-1] + b',"items":['
    return Answer(opening + b",".join(record.raw for record in page.records) + b"]}")
