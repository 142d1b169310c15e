"""Who is asking: tokens of a file in kube-apiserver's CSV format (token,user,uid,"group1,group2")."""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

AUTHENTICATED: Final = "system:authenticated"
SERVICE_ACCOUNT: Final = "system:serviceaccount:"
OPEN_PATHS: Final = frozenset({"/healthz", "/livez", "/readyz", "/version"})
"""Answered without a token."""


@dataclass(frozen=True)
class User:
    """A signed-in or impersonated user."""

    name: str
    groups: frozenset[str]
    uid: str = ""

    @classmethod
    def impersonated(cls, name: str, groups: frozenset[str]) -> User:
        """Give the user that Impersonate headers stand for, with the groups every user has."""
        implied = {AUTHENTICATED}
        if name.startswith(SERVICE_ACCOUNT) and not groups:
            namespace = name.removeprefix(SERVICE_ACCOUNT).partition(":")[0]
            implied |= {"system:serviceaccounts", f"system:serviceaccounts:{namespace}"}
        return cls(name, groups | implied)

    def info(self) -> dict[str, object]:
        """Give authentication.k8s.io UserInfo."""
        return {
            "username": self.name,
            "groups": sorted(self.groups),
            **({"uid": self.uid} if self.uid else {}),
        }


def read_tokens(path: Path) -> dict[str, User]:
    """Read the token file."""
    users: dict[str, User] = {}
    with path.open(newline="", encoding="utf-8") as file:
        for row in csv.reader(file):
            if not row:
                continue
            token, name, uid, *rest = row
            groups = frozenset(group for group in (rest[0] if rest else "").split(",") if group)
            users[token] = User(name, groups | {AUTHENTICATED}, uid)
    return users


class Authenticator:
    """Give the user a bearer token stands for."""

    def __init__(self, users: Mapping[str, User]) -> None:
        self._users = dict(users)

    def identify(self, authorization: str) -> User | None:
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        return self._users.get(token.strip())
