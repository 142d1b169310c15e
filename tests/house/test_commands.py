"""The Makefile, the locks and the documents agree with each other."""

from __future__ import annotations

import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
MAKEFILE = (ROOT / "Makefile").read_text()
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
TARGETS = set(re.findall(r"^([a-z-]+):", MAKEFILE, re.MULTILINE))
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]


def pinned(lock: str) -> dict[str, str]:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()
    pins = re.findall(r"^([A-Za-z0-9._-]+)(?:\[[^]]*\])?==([^ ;\\]+)", text, re.MULTILINE)
    return {canonicalize_name(name): version for name, version in pins}


@pytest.mark.parametrize(("lock", "extras"), [("base", ()), ("dev", ("dev",))])
def test_the_lock_holds_what_the_project_asks_for(lock: str, extras: tuple[str, ...]) -> None:
    pins = pinned(lock)
    wanted = [*PROJECT["dependencies"]]
    for extra in extras:
        wanted += PROJECT["optional-dependencies"][extra]

    for line in wanted:
        requirement = Requirement(line)
        assert canonicalize_name(requirement.name) in pins, f"{line}: run `make lock`"
        assert pins[canonicalize_name(requirement.name)] in requirement.specifier, f"{line}: run `make lock`"


def test_both_locks_pin_the_same_versions() -> None:
    base, dev = pinned("base"), pinned("dev")

    assert {name: dev.get(name) for name in base} == base


@pytest.mark.parametrize("lock", ["base", "dev"])
def test_locks_carry_hashes_and_name_no_host(lock: str) -> None:
    text = (ROOT / "requirements" / f"{lock}.txt").read_text()

    assert "://" not in text
    assert "--index-url" not in text
    assert text.count("--hash=sha256:") >= len(pinned(lock))


def test_every_target_says_what_it_is_for() -> None:
    assert shutil.which("make"), "make is what everything starts with"

    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    assert set(re.findall(r"^  make ([a-z-]+)", shown, re.MULTILINE)) == TARGETS


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.name)
def test_documents_name_targets_and_files_that_exist(document: Path) -> None:
    text = document.read_text()

    for target in re.findall(r"`make ([a-z-]+)", text):
        assert target in TARGETS, f"make {target}"
    for link in re.findall(r"\]\((?!https?://|#)([^)#]+)", text):
        assert (document.parent / link).exists(), link


def test_documents_name_every_package_of_the_project() -> None:
    architecture = (ROOT / "docs" / "architecture.md").read_text()

    for room in ("gpu", "kube", "controller", "portal", "catalog", "claims"):
        assert f"`{room}/`" in architecture


def test_the_image_gets_what_the_processes_need_and_no_secret() -> None:
    let_in = {
        line.removeprefix("!")
        for line in (ROOT / ".dockerignore").read_text().split()
        if line.startswith("!")
    }

    assert {"gpu", "kube", "controller", "portal", "catalog", "claims", "templates", "static"} <= let_in
    assert not let_in & {".run", ".venv", ".git"}
