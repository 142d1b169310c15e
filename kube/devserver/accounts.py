"""The users of a server on loopback: a token each, and a kubeconfig that carries it.

The token file is in kube-apiserver's own format, so a real one can be given the same users.
"""

from __future__ import annotations

import argparse
import base64
import os
import re
import secrets
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kube.devserver.auth import read_tokens

_ADMIN: Final = "admin"
_MASTERS: Final = "system:masters"


@dataclass(frozen=True)
class Account:
    """A user who gets a token and a kubeconfig."""

    name: str
    groups: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> Account:
        """Read NAME:GROUP,GROUP of a command line."""
        # A service account's name has colons of its own.
        parts = re.fullmatch(r"(system:serviceaccount:[^:]+:[^:]+|[^:]+)(?::(.*))?", text)
        if parts is None:
            raise argparse.ArgumentTypeError(f"{text!r} is not NAME:GROUP,GROUP")
        return cls(parts[1], tuple(group for group in (parts[2] or "").split(",") if group))


@dataclass(frozen=True)
class Accounts:
    """The accounts of a folder. An administrator is always among them; every account keeps its token over a restart."""

    folder: Path
    accounts: tuple[Account, ...]

    @classmethod
    def issue(cls, folder: Path, others: Sequence[Account]) -> Accounts:
        """Write the token file."""
        issued = cls(folder, (Account(_ADMIN, (_MASTERS,)), *others))
        known: dict[str, str] = {}
        if issued.tokens.exists():
            known = {user.name: token for token, user in read_tokens(issued.tokens).items()}
        lines = [
            f'{known.get(account.name) or secrets.token_hex(16)},{account.name},{account.name},"{",".join(account.groups)}"\n'
            for account in issued.accounts
        ]
        _write_secret(issued.tokens, "".join(lines))
        return issued

    @property
    def tokens(self) -> Path:
        return self.folder / "tokens.csv"

    def write_kubeconfigs(self, url: str, authority: bytes) -> None:
        """Write ``kubeconfig`` of the administrator and ``kubeconfig-NAME`` of everybody else."""
        for token, user in read_tokens(self.tokens).items():
            # A colon would part two files in the variable KUBECONFIG.
            name = "kubeconfig" if user.name == _ADMIN else f"kubeconfig-{user.name.replace(':', '-')}"
            _write_secret(self.folder / name, _kubeconfig(url, authority, user.name, token))


def _write_secret(path: Path, text: str) -> None:
    """Replace the file at once: others read it while the server starts again."""
    handle, temporary = tempfile.mkstemp(dir=path.parent)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(temporary, path)


def _kubeconfig(url: str, authority: bytes, user: str, token: str) -> str:
    return f"""apiVersion: v1
kind: Config
clusters:
- name: dev
  cluster:
    server: {url}
    certificate-authority-data: {base64.b64encode(authority).decode()}
users:
- name: {user}
  user:
    token: {token}
contexts:
- name: dev
  context:
    cluster: dev
    user: {user}
current-context: dev
"""
