"""kubectl works against the dev server: apply, get, describe, explain, delete, -w."""

from __future__ import annotations

import json
import os
import select
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import IO

import pytest

from tests.kube.servers import RunningServer

pytestmark = pytest.mark.usefixtures("kubectl")

CLASS = """\
apiVersion: gpu.cozystack.io/v1alpha1
kind: GPUClass
metadata:
  name: {name}
spec:
  vendor: NVIDIA
  model: L40S
  mode: passthrough
  memory: 48Gi
  source:
    devicePlugin:
      resourceName: nvidia.com/AD102GL_L40S
  tolerations:
  - key: nvidia.com/gpu
    {operator}
"""

Kubectl = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def environment(dev_server: RunningServer, tmp_path: Path) -> dict[str, str]:
    """Of a kubectl that knows this cluster only and keeps its caches to itself."""
    return {**os.environ, "KUBECONFIG": str(dev_server.kubeconfig), "HOME": str(tmp_path)}


@pytest.fixture
def kubectl(kubectl: None, environment: dict[str, str]) -> Kubectl:
    def run(*arguments: str, given: str = "") -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["kubectl", *arguments],
            input=given,
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return run


def class_yaml(name: str, operator: str = "operator: Exists") -> str:
    return CLASS.format(name=name, operator=operator)


def test_apply_creates_then_changes_nothing_then_changes(kubectl: Kubectl, name: str) -> None:
    first = kubectl("apply", "-f", "-", given=class_yaml(name))
    second = kubectl("apply", "-f", "-", given=class_yaml(name))
    third = kubectl("apply", "-f", "-", given=class_yaml(name).replace("48Gi", "44Gi"))
    kubectl("delete", "gpuclass", name)

    assert first.stdout == f"gpuclass.gpu.cozystack.io/{name} created\n"
    assert second.stdout == f"gpuclass.gpu.cozystack.io/{name} unchanged\n"
    assert third.stdout == f"gpuclass.gpu.cozystack.io/{name} configured\n"


def test_apply_of_a_bad_toleration_gives_the_message_of_the_crd(kubectl: Kubectl, name: str) -> None:
    answer = kubectl("apply", "-f", "-", given=class_yaml(name, "operator: Exists\n    value: x"))

    assert answer.returncode != 0
    assert answer.stderr == (
        f'The GPUClass "{name}" is invalid: spec.tolerations[0]: Invalid value: '
        "a toleration with operator Exists takes no value\n"
    )


def test_apply_of_a_misspelt_field_names_it(kubectl: Kubectl, name: str) -> None:
    answer = kubectl("apply", "-f", "-", given=class_yaml(name, "operation: Exists"))

    assert answer.returncode != 0
    assert 'strict decoding error: unknown field "spec.tolerations[0].operation"' in answer.stderr


def test_server_side_apply_works(kubectl: Kubectl, name: str) -> None:
    applied = kubectl("apply", "--server-side", "-f", "-", given=class_yaml(name))
    kubectl("delete", "gpuclass", name)

    assert applied.stdout == f"gpuclass.gpu.cozystack.io/{name} serverside-applied\n"


def test_get_shows_the_printer_columns(kubectl: Kubectl, name: str) -> None:
    kubectl("apply", "-f", "-", given=class_yaml(name))

    table = kubectl("get", "gpuclasses", name)
    as_json = kubectl("get", "gpuclass", name, "-o", "json")
    kubectl("delete", "gpuclass", name)

    header, row = table.stdout.splitlines()
    assert header.split() == ["NAME", "MODE", "MODEL", "PROFILE", "FREE", "AGE"]
    assert row.split()[:3] == [name, "passthrough", "L40S"]
    assert row.split()[-1].endswith("s")
    assert json.loads(as_json.stdout)["spec"]["onCordon"] == "Move"


def test_get_lists_several_kinds_of_all_namespaces_at_once(kubectl: Kubectl, name: str) -> None:
    kubectl("apply", "-f", "-", given=class_yaml(name))

    answer = kubectl("get", "gpuclasses,gpuclaims", "-A")
    kubectl("delete", "gpuclass", name)

    assert answer.returncode == 0, answer.stderr
    assert f"gpuclass.gpu.cozystack.io/{name}" in answer.stdout


def test_describe_shows_the_spec(kubectl: Kubectl, name: str) -> None:
    kubectl("apply", "-f", "-", given=class_yaml(name))

    answer = kubectl("describe", "gpuclass", name)
    kubectl("delete", "gpuclass", name)

    assert answer.returncode == 0, answer.stderr
    assert "Resource Name:  nvidia.com/AD102GL_L40S" in answer.stdout
    assert "Events:" in answer.stdout


def test_explain_reads_the_descriptions_of_the_crd(kubectl: Kubectl) -> None:
    answer = kubectl("explain", "gpuclaim.spec")

    assert "className\t<string> -required-" in answer.stdout
    assert "name of a GPUClass" in answer.stdout


def test_delete_waits_until_the_object_is_gone(kubectl: Kubectl, name: str) -> None:
    kubectl("apply", "-f", "-", given=class_yaml(name))

    deleted = kubectl("delete", "gpuclass", name)
    again = kubectl("delete", "gpuclass", name)

    assert deleted.stdout == f'gpuclass.gpu.cozystack.io "{name}" deleted\n'
    assert f'gpuclasses.gpu.cozystack.io "{name}" not found' in again.stderr


def test_watch_prints_a_row_per_change(kubectl: Kubectl, environment: dict[str, str], name: str) -> None:
    kubectl("apply", "-f", "-", given=class_yaml(name))
    command = ["kubectl", "get", "gpuclasses", "-w", "--field-selector", f"metadata.name={name}"]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, bufsize=0) as watching:
        assert watching.stdout is not None
        lines = Lines(watching.stdout)
        try:
            first = [lines.next(), lines.next()]
            kubectl(
                "patch",
                "gpuclass",
                name,
                "--subresource=status",
                "--type=merge",
                "-p",
                '{"status":{"free":7}}',
            )
            changed = lines.next()
        finally:
            watching.terminate()
    kubectl("delete", "gpuclass", name)

    assert first[0].startswith("NAME")
    assert first[1].split()[0] == name
    assert changed.split()[3] == "7"


class Lines:
    """The lines of a running process's output. Reads the descriptor itself: a buffered file hides what has arrived."""

    def __init__(self, output: IO[bytes]) -> None:
        self._output = output
        self._rest = b""

    def next(self) -> str:
        while b"\n" not in self._rest:
            assert select.select([self._output], [], [], 30)[0], "kubectl printed nothing"
            part = os.read(self._output.fileno(), 65536)
            assert part, "kubectl ended"
            self._rest += part
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()


def test_nodes_are_cordoned_tainted_and_described(kubectl: Kubectl, name: str) -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {
            "allocatable": {"nvidia.com/gpu": "8"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }
    kubectl("apply", "-f", "-", given=json.dumps(node))

    cordoned = kubectl("cordon", name)
    tainted = kubectl("taint", "node", name, "nvidia.com/gpu=present:NoSchedule")
    listed = kubectl("get", "node", name)
    described = kubectl("describe", "node", name)
    kubectl("delete", "node", name)

    assert cordoned.stdout == f"node/{name} cordoned\n"
    assert tainted.returncode == 0, tainted.stderr
    assert "Ready,SchedulingDisabled" in listed.stdout
    assert "nvidia.com/gpu=present:NoSchedule" in described.stdout


def test_a_namespace_is_created_and_takes_its_content_along(kubectl: Kubectl, name: str) -> None:
    created = kubectl("create", "namespace", name)
    kubectl("create", "configmap", "c", "-n", name, "--from-literal=a=b")
    quota = kubectl("create", "quota", "q", "-n", name, "--hard=gpu.cozystack.io/total=3,pods=5")
    read = kubectl("get", "configmap", "c", "-n", name, "-o", "jsonpath={.data.a}")
    hard = kubectl("get", "quota", "q", "-n", name, "-o", "json")
    deleted = kubectl("delete", "namespace", name)
    left = kubectl("get", "configmap", "c", "-n", name)

    assert created.stdout == f"namespace/{name} created\n"
    assert read.stdout == "b"
    assert quota.returncode == 0, quota.stderr
    assert json.loads(hard.stdout)["spec"]["hard"] == {"gpu.cozystack.io/total": "3", "pods": "5"}
    assert deleted.returncode == 0, deleted.stderr
    assert "NotFound" in left.stderr


def test_a_user_can_ask_who_they_are_and_what_they_may(kubectl: Kubectl) -> None:
    who = kubectl("auth", "whoami", "--as", "alice", "--as-group", "tenant-acme-use")
    may = kubectl("auth", "can-i", "list", "nodes", "--as", "alice")
    may_all = kubectl("auth", "can-i", "list", "nodes")
    listed = kubectl("auth", "can-i", "--list", "--as", "alice")

    assert "alice" in who.stdout
    assert "tenant-acme-use" in who.stdout
    assert may.stdout.strip() == "no"
    assert may_all.stdout.strip() == "yes"
    assert "selfsubjectaccessreviews.authorization.k8s.io" in listed.stdout
