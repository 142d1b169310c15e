"""Validating admission webhooks: who is asked about a write, and how a denial reaches the client."""

from __future__ import annotations

import asyncio
import base64
import ssl
import uuid
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kube.devserver.auth import User
from kube.devserver.request import Target
from kube.devserver.selectors import picks
from kube.devserver.served import Object, Served
from kube.devserver.status import ApiError, bad_request, internal
from kube.devserver.store import Store

if TYPE_CHECKING:
    import aiohttp

CONFIGURATIONS: Final = "admissionregistration.k8s.io/validatingwebhookconfigurations"
_DEFAULT_TIMEOUT_SECONDS: Final = 10
_NO_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")

Webhook = dict[str, Any]


class Unreachable(Exception):
    """A webhook gave no usable answer."""


def _rule_matches(rule: dict[str, Any], operation: str, target: Target, served: Served) -> bool:
    def lists(field: str, wanted: str) -> bool:
        return bool({"*", wanted} & set(rule.get(field) or ()))

    scope = rule.get("scope") or "*"
    if scope != "*" and (scope == "Namespaced") is not served.namespaced:
        return False
    name = f"{target.plural}/{target.subresource}" if target.subresource else target.plural
    resources = set(rule.get("resources") or ())
    by_wildcard = f"{target.plural}/*" in resources or (
        f"*/{target.subresource}" in resources if target.subresource else "*" in resources
    )
    return (
        lists("operations", operation)
        and lists("apiGroups", target.group)
        and lists("apiVersions", target.version)
        and (by_wildcard or "*/*" in resources or name in resources)
    )


class Admission:
    """Ask the webhooks. Their connections are kept open between requests."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._webhooks: tuple[Webhook, ...] | None = None
        self._sessions: dict[str, aiohttp.ClientSession] = {}

    def changed(self) -> None:
        """Tell that a webhook configuration is not what it was."""
        self._webhooks = None

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()

    def _configured(self) -> tuple[Webhook, ...]:
        if self._webhooks is None:
            records = self._store.collection(CONFIGURATIONS).records
            self._webhooks = tuple(
                webhook for record in records.values() for webhook in record.object.get("webhooks") or ()
            )
        return self._webhooks

    def _asked(self, operation: str, target: Target, served: Served, subject: Object) -> list[Webhook]:
        return [
            webhook
            for webhook in self._configured()
            if any(_rule_matches(rule, operation, target, served) for rule in webhook.get("rules") or ())
            and picks(webhook.get("objectSelector") or {}, subject["metadata"].get("labels") or {})
            and self._namespace_picked(webhook, target, served)
        ]

    def _namespace_picked(self, webhook: Webhook, target: Target, served: Served) -> bool:
        selector = webhook.get("namespaceSelector") or {}
        if not selector or not served.namespaced:
            return True
        record = self._store.get("/namespaces", ("", target.namespace))
        return record is not None and picks(selector, record.object["metadata"].get("labels") or {})

    async def admit(
        self,
        operation: str,
        target: Target,
        served: Served,
        user: User,
        *,
        content: Object | None,
        old: Object | None,
        name: str,
        dry_run: bool,
        options: Object,
    ) -> list[str]:
        """Ask every webhook that wants to know, all at once. Raise the first denial; give the warnings."""
        subject = content if content is not None else old
        if subject is None or served.group == "admissionregistration.k8s.io":
            return []
        asked = self._asked(operation, target, served, subject)
        if not asked:
            return []
        review = {
            "kind": {"group": target.group, "version": target.version, "kind": served.kind},
            "resource": {"group": target.group, "version": target.version, "resource": target.plural},
            "requestKind": {"group": target.group, "version": target.version, "kind": served.kind},
            "requestResource": {"group": target.group, "version": target.version, "resource": target.plural},
            "name": name,
            **({"namespace": target.namespace} if served.namespaced else {}),
            **({"subResource": target.subresource} if target.subresource else {}),
            "operation": operation,
            "userInfo": user.info(),
            "object": content,
            "oldObject": old,
            "dryRun": dry_run,
            "options": options,
        }
        answers = await asyncio.gather(
            *(self._ask(webhook, review, dry_run=dry_run) for webhook in asked), return_exceptions=True
        )
        warnings: list[str] = []
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
            warnings += answer
        return warnings

    async def _ask(self, webhook: Webhook, review: Object, *, dry_run: bool) -> list[str]:
        name = webhook["name"]
        if dry_run and webhook.get("sideEffects") not in _NO_SIDE_EFFECTS:
            raise bad_request(f'admission webhook "{name}" does not support dry run')
        try:
            response = await self._call(webhook, review)
        except Unreachable as error:
            if webhook.get("failurePolicy", "Fail") == "Ignore":
                return []
            raise internal(f'failed calling webhook "{name}": failed to call webhook: {error}') from error
        if response.get("allowed") is True:
            return list(response.get("warnings") or ())
        raise _denial(name, response.get("status") or {})

    async def _call(self, webhook: Webhook, review: Object) -> Object:
        import aiohttp  # on demand: a server without webhooks starts faster

        config = webhook.get("clientConfig") or {}
        url = config.get("url")
        if not url:
            raise Unreachable("only webhooks by url can be reached from this server")
        seconds = webhook.get("timeoutSeconds") or _DEFAULT_TIMEOUT_SECONDS
        uid = str(uuid.uuid4())
        envelope = {
            "kind": "AdmissionReview",
            "apiVersion": "admission.k8s.io/v1",
            "request": {"uid": uid, **review},
        }
        body = msgspec.json.encode(envelope)
        try:
            async with self._session(config.get("caBundle") or "").post(
                url,
                params={"timeout": f"{seconds}s"},
                data=body,
                headers={"content-type": "application/json"},
                timeout=aiohttp.ClientTimeout(total=seconds),
            ) as answer:
                text = await answer.read()
                if answer.status != 200:
                    raise Unreachable(f'Post "{url}": {answer.status}: {text[:200].decode(errors="replace")}')
        except TimeoutError as error:
            raise Unreachable(f'Post "{url}?timeout={seconds}s": context deadline exceeded') from error
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(f'Post "{url}?timeout={seconds}s": {error}') from error
        try:
            response: Any = msgspec.json.decode(text)["response"]
        except (msgspec.DecodeError, KeyError, TypeError) as error:
            raise Unreachable(f"the answer is no AdmissionReview: {error}") from error
        if not isinstance(response, dict) or response.get("uid") != uid:
            raise Unreachable(f"expected response.uid={uid!r}")
        return dict(response)

    def _session(self, ca_bundle: str) -> aiohttp.ClientSession:
        import aiohttp

        session = self._sessions.get(ca_bundle)
        if session is None:
            pem = base64.b64decode(ca_bundle).decode("ascii") if ca_bundle else None
            try:
                context = ssl.create_default_context(cadata=pem)
            except ssl.SSLError as error:
                raise Unreachable(f"unable to load root certificates: {error}") from error
            connector = aiohttp.TCPConnector(ssl=context, limit=64, keepalive_timeout=60)
            session = self._sessions[ca_bundle] = aiohttp.ClientSession(connector=connector)
        return session


def _denial(name: str, status: dict[str, Any]) -> ApiError:
    """Turn a webhook's status into the answer, whole: code, reason, details; only the message gets a preface."""
    code = status.get("code") or 0
    code = code if code >= 400 else 400
    preface = f'admission webhook "{name}" denied the request'
    why = status.get("message") or status.get("reason")
    message = f"{preface}: {why}" if why else f"{preface} without explanation"
    return ApiError(code, status.get("reason") or "", message, details=status.get("details"))
