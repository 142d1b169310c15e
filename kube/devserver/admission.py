"""Validating admission webhooks: who is asked about a write, and how a denial reaches the client."""

from __future__ import annotations

import asyncio
from typing import Any, Final

from kube.devserver.auth import User
from kube.devserver.request import Target
from kube.devserver.selectors import picks
from kube.devserver.served import Object, Served
from kube.devserver.status import ApiError, bad_request, internal
from kube.devserver.store import Store
from kube.devserver.webhooks import Unreachable, Webhook, WebhookClient

CONFIGURATIONS: Final = "admissionregistration.k8s.io/validatingwebhookconfigurations"
_NO_SIDE_EFFECTS: Final = ("None", "NoneOnDryRun")


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
        self._client = WebhookClient()

    def changed(self) -> None:
        """Tell that a webhook configuration is not what it was."""
        self._webhooks = None

    def warm_up(self) -> None:
        """Load the client now where there are webhooks, so that the first write asked about does not wait for it."""
        if self._configured():
            self._client.warm_up()

    async def close(self) -> None:
        await self._client.close()

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
            response = await self._client.call(webhook, review)
        except Unreachable as error:
            if webhook.get("failurePolicy", "Fail") == "Ignore":
                return []
            raise internal(f'failed calling webhook "{name}": failed to call webhook: {error}') from error
        if response.get("allowed") is True:
            return list(response.get("warnings") or ())
        raise _denial(name, response.get("status") or {})


def _denial(name: str, status: dict[str, Any]) -> ApiError:
    """Turn a webhook's status into the answer, whole: code, reason, details; only the message gets a preface."""
    code = status.get("code") or 0
    code = code if code >= 400 else 400
    preface = f'admission webhook "{name}" denied the request'
    why = status.get("message") or status.get("reason")
    message = f"{preface}: {why}" if why else f"{preface} without explanation"
    return ApiError(code, status.get("reason") or "", message, details=status.get("details"))
