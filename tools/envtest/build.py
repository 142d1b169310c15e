"""Build a Kubernetes control plane from Go modules: ``python -m tools.envtest.build [PART ...]``.

The binaries lie in tools/envtest/bin and are built anew only when go.mod or go.sum changed. Where KUBEBUILDER_ASSETS names a
folder that has them, those are used and nothing is built.
"""

from __future__ import annotations

import argparse
import fcntl
import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).resolve().parent
BIN: Final = _HERE / "bin"
_VERSION: Final = "k8s.io/component-base/version"


class CannotBuild(Exception):
    """Why there is no control plane, in words for the person at the console."""


@dataclass(frozen=True)
class Part:
    """One binary: its package, and the folder of the Go module that pins it."""

    name: str
    package: str
    module: Path = _HERE

    @property
    def pins(self) -> str:
        return (self.module / "go.mod").read_text()

    def digest(self) -> str:
        """Tell one set of sources and build flags from another."""
        sums = (self.module / "go.sum").read_bytes()
        return hashlib.sha256(repr(self.command).encode() + self.pins.encode() + sums).hexdigest()

    @property
    def command(self) -> list[str]:
        return [
            "go",
            "build",
            "-trimpath",
            "-ldflags",
            self._flags(),
            "-o",
            str(BIN / self.name),
            self.package,
        ]

    def _flags(self) -> str:
        flags = "-s -w"
        if found := re.search(
            r"^\s*(?:require )?k8s\.io/kubernetes (v(\d+)\.(\d+)\S*)", self.pins, re.MULTILINE
        ):
            version, major, minor = found.groups()
            flags += f" -X {_VERSION}.gitVersion={version} -X {_VERSION}.gitMajor={major} -X {_VERSION}.gitMinor={minor}"
        return flags


_PARTS: Final = {
    part.name: part
    for part in (
        Part("etcd", "go.etcd.io/etcd/server/v3"),
        Part("kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"),
        Part("kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"),
        Part("kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"),
        Part("kubectl", "k8s.io/kubernetes/cmd/kubectl"),
        Part("kwok", "sigs.k8s.io/kwok/cmd/kwok", _HERE / "kwok"),
    )
}
SERVER: Final = ("etcd", "kube-apiserver")
NAMES: Final = tuple(_PARTS)


def find(name: str) -> Path:
    """Give the binary of a part, built first where it is not there yet. Raises CannotBuild."""
    given = os.environ.get("KUBEBUILDER_ASSETS")
    if given and os.access(Path(given) / name, os.X_OK):
        return Path(given) / name
    BIN.mkdir(exist_ok=True)
    part, stamp = _PARTS[name], BIN / f".{name}.digest"
    digest = part.digest()
    # Two runs at once: the second waits for the first and finds its work done.
    with (BIN / f".{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (stamp.exists() and stamp.read_text() == digest and (BIN / name).exists()):
            _build(part)
            stamp.write_text(digest)
    return BIN / name


def _build(part: Part) -> None:
    if shutil.which("go") is None:
        raise CannotBuild(
            f"{part.name} is built with Go, and there is no go on the PATH. Install Go, or name a folder that has "
            f"{' and '.join(SERVER)} in KUBEBUILDER_ASSETS."
        )
    print(f"Building {part.name}; the first time takes minutes.", file=sys.stderr, flush=True)
    ended = subprocess.run(part.command, cwd=part.module)
    if ended.returncode != 0:
        raise CannotBuild(
            f"{part.name} could not be built: `{' '.join(part.command)}` in {part.module} failed."
        )


def main(names: Iterable[str]) -> int:
    try:
        for name in names:
            print(find(name))
    except CannotBuild as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tools.envtest.build", description=__doc__)
    parser.add_argument(
        "parts", nargs="*", metavar="PART", help=f"of {', '.join(NAMES)}; default: {', '.join(SERVER)}"
    )
    wanted = parser.parse_args().parts or SERVER
    if unknown := set(wanted) - set(NAMES):
        parser.error(f"there is no part {', '.join(sorted(unknown))}")
    sys.exit(main(wanted))
