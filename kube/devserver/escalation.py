"""Nobody grants what they do not hold: who writes a role or a binding has its rules, or the right to go beyond them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import product
from typing import Any, Final, NamedTuple

from kube.devserver.auth import User
from kube.devserver.rbac import GROUP, MASTERS, Action, Authorizer, Grant, path_matches
from kube.devserver.request import Target
from kube.devserver.served import Object
from kube.devserver.status import forbidden, go_quoted, not_found

_EVERYTHING: Final = [
    {"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]},
    {"nonResourceURLs": ["*"], "verbs": ["*"]},
]
_HOLDING: Final = ("finalizers", "ownerReferences")


class _Right(NamedTuple):
    """The least part of a rule: one verb on one thing."""

    verb: str
    group: str = ""
    resource: str = ""
    name: str = ""
    path: str = ""


def refuse_escalation(
    authorizer: Authorizer, user: User, target: Target, content: Object, old: Object | None
) -> None:
    """Raise 403 when a role or binding gives more than its writer holds; 404 when it binds a role that is not there.

    ``target`` is what the request names.
    """
    if target.group != GROUP or MASTERS in user.groups or _is_same_but_for_holders(content, old):
        return
    if target.plural in ("roles", "clusterroles"):
        may_escalate = Action("escalate", GROUP, target.plural, "", target.namespace, target.name)
        if not authorizer.allows(user, may_escalate):
            _refuse_role(authorizer, user, target, content, old)
        return
    role = content["roleRef"]
    plural = "roles" if role["kind"] == "Role" else "clusterroles"
    if authorizer.allows(user, Action("bind", GROUP, plural, "", target.namespace, role["name"])):
        return
    rules = authorizer.rules(role, target.namespace)
    if rules is None:
        raise not_found(target.group, target.plural, role["name"])
    _refuse_missing(authorizer, user, target, content, rules)


def _is_same_but_for_holders(content: Object, old: Object | None) -> bool:
    """Say whether nothing changed but what a garbage collector changes."""
    if old is None:
        return False
    one, other = (
        {key: value for key, value in part["metadata"].items() if key not in _HOLDING}
        for part in (content, old)
    )
    return {**content, "metadata": one} == {**old, "metadata": other}


def _refuse_role(
    authorizer: Authorizer, user: User, target: Target, content: Object, old: Object | None
) -> None:
    _refuse_missing(authorizer, user, target, content, content.get("rules") or [])
    # What a role gathers may be anything, today or tomorrow.
    gathers = any((part or {}).get("aggregationRule") for part in (content, old))
    if gathers and _missing(authorizer, user, target, _EVERYTHING):
        why = "must have cluster-admin privileges to use the aggregationRule"
        raise forbidden(target.group, target.plural, content["metadata"]["name"], why)


def _refuse_missing(
    authorizer: Authorizer, user: User, target: Target, content: Object, rules: list[dict[str, Any]]
) -> None:
    missing = _missing(authorizer, user, target, rules)
    if missing:
        who = f"user {go_quoted(user.name)} (groups={_quoted(sorted(user.groups))})"
        told = "\n".join(sorted(set(_described(missing))))
        why = f"{who} is attempting to grant RBAC permissions not currently held:\n{told}"
        raise forbidden(target.group, target.plural, content["metadata"]["name"], why)


def _missing(authorizer: Authorizer, user: User, target: Target, rules: list[dict[str, Any]]) -> list[_Right]:
    held = [grant for grant in authorizer.grants(user) if grant.namespace in (None, target.namespace)]
    rights = (right for rule in rules for right in _rights(rule))
    return [right for right in rights if not any(_covers(grant, right) for grant in held)]


def _rights(rule: dict[str, Any]) -> Iterator[_Right]:
    verbs = rule.get("verbs") or ()
    things = product(rule.get("apiGroups") or (), rule.get("resources") or ())
    for (group, resource), verb, name in product(things, verbs, rule.get("resourceNames") or ("",)):
        yield _Right(verb, group, resource, name)
    for path, verb in product(rule.get("nonResourceURLs") or (), verbs):
        yield _Right(verb, path=path)


def _covers(grant: Grant, right: _Right) -> bool:
    if not {right.verb, "*"} & grant.verbs or (grant.names and right.name not in grant.names):
        return False
    if right.path:
        return any(path_matches(pattern, right.path) for pattern in grant.paths)
    _, slash, subresource = right.resource.partition("/")
    enough = {right.resource, "*", *([f"*/{subresource}"] if slash else [])}
    return bool({right.group, "*"} & grant.groups and enough & grant.targets)


def _described(rights: list[_Right]) -> Iterator[str]:
    """Write rights as rules again: those on one thing in one rule, paths each in one of its own."""
    verbs: dict[tuple[str, str, str], list[str]] = {}
    for right in rights:
        if right.path:
            yield f"{{NonResourceURLs:{_quoted([right.path])}, Verbs:{_quoted([right.verb])}}}"
        else:
            verbs.setdefault((right.group, right.resource, right.name), []).append(right.verb)
    for (group, resource, name), several in verbs.items():
        named = f", ResourceNames:{_quoted([name])}" if name else ""
        where = f"APIGroups:{_quoted([group])}, Resources:{_quoted([resource])}{named}"
        yield f"{{{where}, Verbs:{_quoted(several)}}}"


def _quoted(texts: Iterable[str]) -> str:
    return f"[{' '.join(go_quoted(text) for text in texts)}]"
