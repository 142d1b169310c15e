"""The order as code, as a shell that it is pasted into takes it."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest
import yaml

from claims.as_code import order_as_code
from claims.orders import OrderSpec

ODD = "$(touch run) `touch run` ${HOME} 'a' \"b\" \\\nEOF\ntouch run"


@pytest.fixture
def shell(tmp_path: Path) -> Path:
    """A place with a kubectl and a curl that show what they are given."""
    for name, text in {"kubectl": "cat", "curl": 'printf "%s\\0" "$@"'}.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    return tmp_path


def pasted(code: str, shell: Path) -> str:
    path = f"{shell}:{os.environ['PATH']}"
    done = subprocess.run(
        ["sh", "-c", code], cwd=shell, env={"PATH": path}, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("text", ["sim", ODD])
def test_a_pasted_order_is_the_order_and_runs_nothing_else(shell: Path, text: str) -> None:
    spec = OrderSpec(namespace="tenant-acme", class_name=text, count=2, name="train", set_name=text)
    code = order_as_code(spec, base_url="http://[::1]:8000", username=text)

    manifest = yaml.safe_load(pasted(code.kubectl, shell))
    sent = pasted(code.curl, shell).split("\0")

    assert manifest["metadata"] == {"name": "train", "namespace": "tenant-acme"}
    assert manifest["spec"] == {"className": text, "count": 2, "setName": text}
    assert sent[:3] == ["-u", text, "http://[::1]:8000/api/v1/tenants/tenant-acme/claims/"]
    assert json.loads(sent[sent.index("-d") + 1])["spec"] == manifest["spec"]
    assert not (shell / "run").exists()
