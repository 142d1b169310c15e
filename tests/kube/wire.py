"""The bare wire: requests to an API server of which a test sees every byte. Works with any kubeconfig."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import urllib3

from kube import config
from kube.kinds import AnyKind

MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


@dataclass(frozen=True)
class Answer:
    """What came back."""

    code: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def causes(self) -> list[tuple[str, str, str]]:
        """Give (reason, field, message) of each cause."""
        found = self.json.get("details", {}).get("causes", [])
        return [(cause["reason"], cause.get("field", ""), cause["message"]) for cause in found]


class Events:
    """The events of an open watch, one line each."""

    def __init__(self, response: urllib3.BaseHTTPResponse) -> None:
        self._lines = self._split(response)
        self.code = response.status

    @staticmethod
    def _split(response: urllib3.BaseHTTPResponse) -> Iterator[bytes]:
        rest = b""
        for chunk in response.stream(65536, decode_content=True):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
        if rest:
            yield rest

    def __iter__(self) -> Iterator[dict[str, Any]]:
        return (json.loads(line) for line in self._lines if line)

    def next(self) -> dict[str, Any]:
        return next(iter(self))

    def next_named(self) -> tuple[str, str]:
        """Give type and object name of the next event."""
        event = self.next()
        return event["type"], event["object"]["metadata"].get("name", "")


@dataclass(frozen=True)
class Wire:
    """An API server as one user sees it."""

    url: str
    pool: urllib3.PoolManager
    authorization: str | None
    headers: tuple[tuple[str, str], ...] = ()

    @classmethod
    def connect(cls, kubeconfig: Path) -> Wire:
        cluster = config.load(kubeconfig)
        pool = urllib3.PoolManager(ssl_context=cluster.tls, maxsize=64, retries=False)
        return cls(cluster.server, pool, cluster.credentials.authorization())

    def as_user(self, name: str, groups: Sequence[str] = ()) -> Wire:
        """Impersonate."""
        headers = (("Impersonate-User", name), *(("Impersonate-Group", group) for group in groups))
        return replace(self, headers=headers)

    def with_authorization(self, authorization: str | None) -> Wire:
        return replace(self, authorization=authorization)

    def _headers(self, accept: str, content_type: str) -> urllib3.HTTPHeaderDict:
        headers = urllib3.HTTPHeaderDict({"accept": accept, "content-type": content_type})
        if self.authorization:
            headers.add("authorization", self.authorization)
        for name, value in self.headers:
            headers.add(name, value)
        return headers

    def send(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        accept: str = "application/json",
        content_type: str = "application/json",
        **query: str,
    ) -> Answer:
        response = self.pool.request(
            method,
            self.url + path + (f"?{urlencode(query)}" if query else ""),
            body=body if isinstance(body, bytes) or body is None else json.dumps(body).encode(),
            headers=self._headers(accept, content_type),
            timeout=urllib3.Timeout(connect=5, read=30),
        )
        return Answer(response.status, response.headers, response.data)

    @contextmanager
    def watch(self, path: str, *, accept: str = "application/json", **query: str) -> Iterator[Events]:
        response = self.pool.request(
            "GET",
            f"{self.url}{path}?{urlencode({'watch': 'true', 'timeoutSeconds': '20', **query})}",
            headers=self._headers(accept, "application/json"),
            timeout=urllib3.Timeout(connect=5, read=30),
            preload_content=False,
        )
        try:
            yield Events(response)
        finally:
            response.close()

    def create(self, kind: AnyKind, body: Mapping[str, Any], *, namespace: str = "", **query: str) -> Answer:
        full = {"apiVersion": kind.api_version, "kind": kind.name, **body}
        return self.send("POST", kind.path(namespace=namespace or None), full, **query)

    def get(self, kind: AnyKind, name: str, *, namespace: str = "", **rest: str) -> Answer:
        return self.send("GET", kind.path(namespace=namespace or None, name=name), **rest)

    def put(
        self,
        kind: AnyKind,
        body: Mapping[str, Any],
        *,
        namespace: str = "",
        subresource: str = "",
        **query: str,
    ) -> Answer:
        path = kind.path(
            namespace=namespace or None, name=body["metadata"]["name"], subresource=subresource or None
        )
        return self.send("PUT", path, {"apiVersion": kind.api_version, "kind": kind.name, **body}, **query)

    def patch(
        self,
        kind: AnyKind,
        name: str,
        body: Any,
        *,
        namespace: str = "",
        subresource: str = "",
        content_type: str = MERGE,
        **query: str,
    ) -> Answer:
        path = kind.path(namespace=namespace or None, name=name, subresource=subresource or None)
        return self.send("PATCH", path, body, content_type=content_type, **query)

    def delete(
        self,
        kind: AnyKind,
        name: str,
        body: Mapping[str, Any] | None = None,
        *,
        namespace: str = "",
        **query: str,
    ) -> Answer:
        return self.send("DELETE", kind.path(namespace=namespace or None, name=name), body, **query)

    def page(self, kind: AnyKind, *, namespace: str = "", **rest: str) -> Answer:
        return self.send("GET", kind.path(namespace=namespace or None), **rest)

    def names(self, kind: AnyKind, *, namespace: str = "", **query: str) -> list[str]:
        return [
            item["metadata"]["name"] for item in self.page(kind, namespace=namespace, **query).json["items"]
        ]
