"""The same objects with kubectl, on the kubeconfig that `make run` prints."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest

from tests.journeys.stack import RunningStack

pytestmark = pytest.mark.usefixtures("kubectl")


def an_offer(**spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "gpu.cozystack.io/v1alpha1",
        "kind": "GPUClass",
        "metadata": {"name": "by-kubectl"},
        "spec": {
            "vendor": "example",
            "model": "X",
            "mode": "passthrough",
            "source": {"devicePlugin": {"resourceName": "example.com/X"}},
        }
        | spec,
    }


@pytest.fixture
def clean(stack: RunningStack) -> Iterator[None]:
    yield
    stack.kubectl("delete", "gpuclass", "by-kubectl", "--ignore-not-found")
    stack.kubectl("delete", "gpuclaim", "-n", "tenant-acme", "by-kubectl", "--ignore-not-found")


def test_get_shows_the_printer_columns(stack: RunningStack) -> None:
    shown = stack.kubectl("get", "gpuclasses,gpuclaims", "-A").stdout

    heads = [line.split() for line in shown.splitlines() if "AGE" in line]
    assert heads == [
        ["NAME", "MODE", "MODEL", "PROFILE", "FREE", "AGE"],
        ["NAMESPACE", "NAME", "CLASS", "COUNT", "BOUND", "AGE"],
    ]
    assert "gpuclass.gpu.cozystack.io/h100-sxm" in shown
    assert "gpuclaim.gpu.cozystack.io/notebook" in shown


@pytest.mark.usefixtures("clean")
def test_a_bad_toleration_gets_the_message_of_the_crd(stack: RunningStack) -> None:
    offer = an_offer(tolerations=[{"key": "a", "operator": "Exists", "value": "b"}])

    answer = stack.kubectl("apply", "-f", "-", stdin=json.dumps(offer))

    assert answer.returncode != 0
    assert "spec.tolerations[0]" in answer.stderr
    assert "a toleration with operator Exists takes no value" in answer.stderr


@pytest.mark.usefixtures("clean")
def test_apply_edit_describe_and_delete_work(stack: RunningStack) -> None:
    assert "created" in stack.kubectl("apply", "-f", "-", stdin=json.dumps(an_offer())).stdout
    assert "unchanged" in stack.kubectl("apply", "-f", "-", stdin=json.dumps(an_offer())).stdout
    edited = an_offer(displayName="Edited")
    assert "configured" in stack.kubectl("apply", "-f", "-", stdin=json.dumps(edited)).stdout

    assert "Edited" in stack.kubectl("describe", "gpuclass", "by-kubectl").stdout
    assert "deleted" in stack.kubectl("delete", "gpuclass", "by-kubectl").stdout


@pytest.mark.usefixtures("clean")
def test_a_watch_shows_an_order_become_a_hold(stack: RunningStack) -> None:
    command = [
        "kubectl",
        "--kubeconfig",
        str(stack.kubeconfig),
        "get",
        "gpuclaims",
        "-n",
        "tenant-acme",
        "-w",
    ]
    claim = {
        "apiVersion": "gpu.cozystack.io/v1alpha1",
        "kind": "GPUClaim",
        "metadata": {"namespace": "tenant-acme", "name": "by-kubectl"},
        "spec": {"className": "h200-sxm"},
    }
    with subprocess.Popen([*command, "--request-timeout=30s"], stdout=subprocess.PIPE, text=True) as watch:
        assert watch.stdout is not None
        watch.stdout.readline()

        stack.apply(claim)

        seen = next(line for line in watch.stdout if line.startswith("by-kubectl") and "True" in line.split())
        watch.terminate()
    assert seen.split()[1:4] == ["h200-sxm", "1", "True"]


@pytest.mark.parametrize(
    ("user", "group", "verb", "namespace", "may"),
    [
        ("alice", "tenant-acme-use", "create", "tenant-acme", True),
        ("alice", "tenant-acme-use", "create", "tenant-acme-lab", True),
        ("alice", "tenant-acme-use", "create", "tenant-globex", False),
        ("bob", "tenant-acme-view", "get", "tenant-acme", True),
        ("bob", "tenant-acme-view", "create", "tenant-acme", False),
        ("charlie", "tenant-globex-use", "get", "tenant-acme", False),
    ],
)
def test_rights_are_those_of_the_roles(
    stack: RunningStack, user: str, group: str, verb: str, namespace: str, may: bool
) -> None:
    who = ["--as", user, "--as-group", group, "--as-group", "system:authenticated"]

    answer = stack.kubectl("auth", "can-i", verb, "gpuclaims.gpu.cozystack.io", "-n", namespace, *who)

    assert answer.stdout.strip() == ("yes" if may else "no"), answer.stderr
