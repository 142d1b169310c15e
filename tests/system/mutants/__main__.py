"""Run the suite against every mutant: ``python -m tests.system.mutants [WORD ...]``. Ends with 0 when all are caught.

Works on a copy of the tree; only tests that fail count, a suite that does not even start catches nothing.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tests.system.mutants.catalog import MUTANTS
from tests.system.mutants.mutant import Mutant

ROOT: Final = Path(__file__).resolve().parents[3]
_TESTS_FAILED: Final = 1
_FAILED: Final = re.compile(r"^(?:FAILED|ERROR) (.+?)(?: - .*)?$", re.MULTILINE)
_LIMIT_SECONDS: Final = 900
_TRIES: Final = 4


@dataclass(frozen=True)
class Run:
    """How one run of a suite ended."""

    code: int
    output: str
    seconds: float

    @property
    def failed(self) -> list[str]:
        """Name the tests that failed."""
        return _FAILED.findall(self.output) if self.code == _TESTS_FAILED else []


def copy_tree(target: Path) -> None:
    """Copy what git knows or would know."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    for name in filter(None, listed.stdout.split("\0")):
        source = ROOT / name
        if source.is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(source, target / name)


def run_suite(tree: Path, suite: Iterable[str], *options: str) -> Run:
    """Run it in the tree."""
    environment = {
        **os.environ,
        "PYTHONDONTWRITEBYTECODE": "1",
        "HYPOTHESIS_STORAGE_DIRECTORY": str(tree / "h"),
    }
    started_at = time.monotonic()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--tb=no"]
    ended = subprocess.run(
        [*command, *options, *suite],
        cwd=tree,
        env=environment,
        capture_output=True,
        text=True,
        timeout=_LIMIT_SECONDS,
    )
    return Run(ended.returncode, ended.stdout + ended.stderr, time.monotonic() - started_at)


def is_healthy(tree: Path, mutants: Iterable[Mutant]) -> bool:
    """Run all the suites without a bug. What fails once on a busy machine may try again, alone."""
    run = run_suite(tree, sorted({part for mutant in mutants for part in mutant.suite}))
    if run.failed:
        run = run_suite(tree, run.failed)
    if run.code == 0:
        print(f"The suite passes without a mutant ({run.seconds:.0f} s).", flush=True)
    else:
        print(f"The suite fails without any mutant:\n{run.output[-3000:]}", file=sys.stderr)
    return run.code == 0


def is_caught(tree: Path, mutant: Mutant) -> bool:
    """Run the mutant's suite with the bug in the tree, tell of it, and take the bug out again.

    The test that failed has to fail a second time: a busy machine may make any fail once, and then the others are asked.
    """
    path = tree / mutant.path
    healthy = path.read_text()
    path.write_text(mutant.apply(tree))
    try:
        run, culprit = _find_culprit(tree, mutant.suite)
    finally:
        path.write_text(healthy)
    if culprit is not None:
        print(f"caught   {mutant.name}\n         by {culprit} ({run.seconds:.0f} s)", flush=True)
        return True
    print(f"ALIVE    {mutant.name} (pytest ended with {run.code})\n{run.output[-600:]}", flush=True)
    return False


def _find_culprit(tree: Path, suite: Iterable[str]) -> tuple[Run, str | None]:
    """Give the last run, and the first test that fails twice."""
    passed_over: list[str] = []
    for _ in range(_TRIES):
        run = run_suite(tree, suite, "-x", *(f"--deselect={name}" for name in passed_over))
        if not run.failed:
            return run, None
        if run_suite(tree, run.failed[:1]).failed:
            return run, run.failed[0]
        passed_over.append(run.failed[0])
    return run, None


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "words", nargs="*", metavar="WORD", help="only mutants with such a word in their name"
    )
    words = parser.parse_args(argv).words
    mutants = [mutant for mutant in MUTANTS if not words or any(word in mutant.name for word in words)]
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        tree = Path(folder)
        copy_tree(tree)
        if not is_healthy(tree, mutants):
            return 2
        caught = sum([is_caught(tree, mutant) for mutant in mutants])
    print(f"{caught} of {len(mutants)} mutants caught")
    return 0 if caught == len(mutants) else 1


if __name__ == "__main__":
    sys.exit(main())
