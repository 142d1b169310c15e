"""The ASGI application: from a request on the wire to the verb that answers it."""

from __future__ import annotations

import logging
from typing import Any, Final

from kube.devserver.answer import Answer, Send
from kube.devserver.auth import OPEN_PATHS, SERVICE_ACCOUNT, Authenticator, User
from kube.devserver.discovery import VERSION, discover
from kube.devserver.openapi import openapi
from kube.devserver.rbac import Action
from kube.devserver.reading import get, list_
from kube.devserver.removing import delete, delete_collection
from kube.devserver.request import Request, Target, parse_target
from kube.devserver.reviews import review
from kube.devserver.served import Served
from kube.devserver.state import State
from kube.devserver.status import (
    ApiError,
    bad_request,
    forbidden,
    internal,
    method_not_allowed,
    no_such_path,
    unauthorized,
)
from kube.devserver.watching import Receive, Watches
from kube.devserver.writing import Write, create, patch, update

_log = logging.getLogger(__name__)
_IMPERSONATE: Final = b"impersonate-"
_WRITES: Final = {"create": create, "update": update, "patch": patch}
MAX_BODY_BYTES: Final = 3 * 1024 * 1024

Headers = list[tuple[bytes, bytes]]


class App:
    """Answers everything; no exception leaves it."""

    def __init__(self, state: State, authenticator: Authenticator) -> None:
        self._state = state
        self._authenticator = authenticator
        self.watches = Watches()

    def warm_up(self) -> None:
        """Do what is better done before the first request than during it."""
        self._state.admission.warm_up()

    async def close(self) -> None:
        await self._state.admission.close()

    async def __call__(self, scope: dict[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            answer = await self._answer(scope, receive, send)
        except ApiError as error:
            answer = _failure(error)
        except Exception as error:
            _log.exception("A request failed.")
            answer = _failure(internal(f"{type(error).__name__}: {error}"))
        if answer is not None:
            await answer.send(send)

    async def _answer(self, scope: dict[str, Any], receive: Receive, send: Send) -> Answer | None:
        path: str = scope["path"]
        if path in OPEN_PATHS:
            return Answer.of(VERSION) if path == "/version" else Answer(b"ok", content_type=b"text/plain")
        request = await self._read(scope, receive)
        target = parse_target(request.method, path, request.query)
        if target is None:
            return self._about_the_server(request)
        served = self._state.catalogue.find(target.group, target.version, target.plural)
        self._authorize(request.user, target.action())
        if served is None or (target.namespace and not served.namespaced and served.plural != "namespaces"):
            raise no_such_path()
        self._check_served(target, served)
        if target.verb == "watch":
            await self.watches.serve(self._state, request, target, served, receive, send)
            return None
        return await self._act(request, target, served)

    async def _act(self, request: Request, target: Target, served: Served) -> Answer:
        if served.verbs == ("create",):
            return review(self._state, request, served)
        match target.verb:
            case "get":
                return get(self._state, request, target, served)
            case "list":
                return list_(self._state, request, target, served)
            case "delete":
                return await delete(self._state, request, target, served)
            case "deletecollection":
                return await delete_collection(self._state, request, target, served)
        return await _WRITES[target.verb](Write(self._state, request, target, served))

    @staticmethod
    def _check_served(target: Target, served: Served) -> None:
        if target.subresource and not (target.subresource == "status" and served.has_status):
            raise no_such_path()
        allowed = ("get", "update", "patch") if target.subresource else served.verbs
        if target.verb not in allowed or (target.verb == "create" and target.name):
            raise method_not_allowed(target.group, target.plural, target.verb)

    def _about_the_server(self, request: Request) -> Answer:
        self._authorize(request.user, Action(request.method.lower(), path=request.path))
        answer = discover(self._state.catalogue, request.path, request.accept)
        answer = answer or openapi(self._state.catalogue, request.path)
        if answer is None:
            raise no_such_path()
        return answer

    async def _read(self, scope: dict[str, Any], receive: Receive) -> Request:
        headers: Headers = scope["headers"]
        named = dict(headers)
        user = self._authenticator.identify(named.get(b"authorization", b"").decode("latin-1"))
        if user is None:
            raise unauthorized()
        if any(name.startswith(_IMPERSONATE) for name in named):
            user = self._impersonate(user, headers)
        body = b""
        if scope["method"] not in ("GET", "HEAD"):
            body = await _read_body(receive)
        return Request(
            method=scope["method"],
            path=scope["path"],
            query=Request.read_query(scope["query_string"]),
            accept=named.get(b"accept", b"").decode("latin-1"),
            content_type=named.get(b"content-type", b"").decode("latin-1").lower(),
            body=body,
            user=user,
        )

    def _impersonate(self, user: User, headers: Headers) -> User:
        """Give the user to act as, if the real one may impersonate that name and each of the groups."""
        names = [value.decode() for name, value in headers if name == b"impersonate-user"]
        groups = [value.decode() for name, value in headers if name == b"impersonate-group"]
        if not names or not names[0]:
            raise bad_request("requested groups or extras without impersonating a user")
        for action in (
            _acting_as(names[0]),
            *(Action("impersonate", plural="groups", name=group) for group in groups),
        ):
            if not self._state.authorizer.allows(user, action):
                raise forbidden("", action.plural, action.name, action.refusal(user.name))
        return User.impersonated(names[0], frozenset(groups))

    def _authorize(self, user: User, action: Action) -> None:
        if self._state.authorizer.allows(user, action):
            return
        if action.path:
            message = f"forbidden: {action.refusal(user.name)}"
            raise ApiError(403, "Forbidden", message, details={})
        raise forbidden(action.group, action.plural, action.name, action.refusal(user.name))


def _acting_as(name: str) -> Action:
    """Give the right that acting as a user takes; a service account is an object of its namespace."""
    if name.startswith(SERVICE_ACCOUNT):
        namespace, _, account = name.removeprefix(SERVICE_ACCOUNT).partition(":")
        return Action("impersonate", plural="serviceaccounts", namespace=namespace, name=account)
    return Action("impersonate", plural="users", name=name)


async def _read_body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise bad_request("the client went away")
        part = message.get("body", b"")
        parts.append(part)
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise ApiError(
                413, "RequestEntityTooLarge", f"Request entity too large: limit is {MAX_BODY_BYTES}"
            )
        if not message.get("more_body"):
            return b"".join(parts)


def _failure(error: ApiError) -> Answer:
    seconds = (error.details or {}).get("retryAfterSeconds")
    headers = ((b"retry-after", str(seconds).encode()),) if seconds else ()
    return Answer.of(error.status(), code=error.code, headers=headers)
