"""Reviews: questions in the form of objects, answered and not stored."""

from __future__ import annotations

from kube.devserver.answer import Answer
from kube.devserver.auth import User
from kube.devserver.rbac import Action
from kube.devserver.request import Request
from kube.devserver.served import Object, Served
from kube.devserver.state import State


def _action(spec: Object) -> Action:
    about = spec.get("nonResourceAttributes")
    if about:
        return Action(about.get("verb", ""), path=about.get("path", ""))
    about = spec.get("resourceAttributes") or {}
    return Action(
        about.get("verb", ""),
        about.get("group", ""),
        about.get("resource", ""),
        about.get("subresource", ""),
        about.get("namespace", ""),
        about.get("name", ""),
    )


def _rules(state: State, user: User, namespace: str) -> Object:
    """List what a user may do in a namespace."""
    grants = state.authorizer.grants(user)
    here = [grant for grant in grants if grant.namespace in (None, namespace)]
    resources = [
        {
            "verbs": sorted(grant.verbs),
            "apiGroups": sorted(grant.groups),
            "resources": sorted(grant.targets),
            **({"resourceNames": sorted(grant.names)} if grant.names else {}),
        }
        for grant in here
        if grant.targets
    ]
    paths = [
        {"verbs": sorted(grant.verbs), "nonResourceURLs": list(grant.paths)} for grant in here if grant.paths
    ]
    return {"resourceRules": resources, "nonResourceRules": paths, "incomplete": False}


def review(state: State, request: Request, served: Served) -> Answer:
    """Answer a review of whatever kind."""
    content = request.decode_object()
    content.setdefault("kind", served.kind)
    content.setdefault("apiVersion", served.api_version)
    content.setdefault("metadata", {})
    if served.kind == "SelfSubjectReview":
        content["status"] = {"userInfo": request.user.info()}
        return Answer.of(content, code=201)
    spec = content.get("spec") or {}
    user = request.user
    if served.kind == "SelfSubjectRulesReview":
        content["status"] = _rules(state, user, spec.get("namespace", ""))
        return Answer.of(content, code=201)
    if served.kind == "SubjectAccessReview":
        user = User(spec.get("user", ""), frozenset(spec.get("groups") or ()))
    content["status"] = {"allowed": state.authorizer.allows(user, _action(spec))}
    return Answer.of(content, code=201)
