from __future__ import annotations

import base64
from pathlib import Path

import pytest

from kube import errors
from kube.certificates import ServerFiles
from kube.config import ClusterConfig, load
from kube.credentials import Fixed
from kube.kinds import GPU_CLAIMS, NAMESPACES
from tests.kube.scripted import reply, scripted
from tests.kube.tls import kubeconfig, now, tls_files
from tests.kube.verbs import Connect, connect

__all__ = ["connect", "now", "tls_files"]


def test_a_kubeconfig_gives_server_trust_and_token(tmp_path: Path, tls_files: ServerFiles) -> None:
    data = base64.b64encode(tls_files.ca_bundle).decode()
    path = kubeconfig(tmp_path, user={"token": "secret-token"}, **{"certificate-authority-data": data})

    config = load(path)

    assert config.server == "https://127.0.0.1:6443"
    assert config.ca == tls_files.ca_bundle.decode()
    assert config.credentials.authorization() == "Bearer secret-token"
    assert "secret-token" not in repr(config)


def test_the_environment_names_the_kubeconfig(tmp_path: Path) -> None:
    path = kubeconfig(tmp_path)

    assert load(environ={"KUBECONFIG": str(path)}).server == "https://127.0.0.1:6443"


def test_paths_in_a_kubeconfig_start_at_its_folder(tmp_path: Path, tls_files: ServerFiles) -> None:
    (tmp_path / "token").write_text("from-file\n")
    path = kubeconfig(tmp_path, user={"tokenFile": "token"}, **{"certificate-authority": "tls/ca.crt"})

    config = load(path)

    assert config.ca == tls_files.ca_bundle.decode()
    assert config.credentials.authorization() == "Bearer from-file"
    (tmp_path / "token").write_text("newer")
    assert config.credentials.authorization() == "Bearer newer"


def test_a_pod_uses_its_service_account(tmp_path: Path, tls_files: ServerFiles) -> None:
    (tmp_path / "token").write_text("first")
    environ = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "443"}

    config = load(environ=environ, token_file=str(tmp_path / "token"), ca_file=str(tls_files.ca))

    assert config.server == "https://[fd00::1]:443"
    assert config.ca == tls_files.ca_bundle.decode()
    assert config.credentials.authorization() == "Bearer first"
    (tmp_path / "token").unlink()
    with pytest.raises(errors.Misconfigured, match="cannot be read"):
        config.credentials.authorization()


@pytest.mark.parametrize(
    "text",
    [None, "", "[]", "x: [", "\0", "apiVersion: v1\nkind: Config\n", "current-context: gone\ncontexts: []\nclusters: []\n"],
)  # fmt: skip
def test_a_kubeconfig_that_is_none_is_a_clear_error(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "kubeconfig"
    if text is not None:
        path.write_text(text)

    with pytest.raises(errors.Misconfigured):
        load(path)


def test_a_kubeconfig_without_a_server_or_with_missing_files_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(errors.Misconfigured, match="server"):
        load(kubeconfig(tmp_path, server=""))
    with pytest.raises(errors.Misconfigured, match=r"gone\.crt"):
        load(kubeconfig(tmp_path, user={}, **{"certificate-authority": "gone.crt"}))


@pytest.mark.parametrize(
    "server", ["", "api.example", "ftp://api.example", "https://", "https://a:port", "https://[::1"]
)
def test_a_server_that_is_no_address_is_refused_at_start(server: str) -> None:
    with pytest.raises(errors.Misconfigured):
        ClusterConfig(server=server)


def test_credentials_that_no_header_can_carry_never_leave_and_never_show(connect: Connect) -> None:
    with scripted(lambda request: [reply(b"{}")]) as server:
        config = ClusterConfig(server=server.url, credentials=Fixed("Bearer sec\nret"))
        with pytest.raises(errors.Misconfigured) as failure:
            connect(config).get(NAMESPACES, "a")

    assert "sec" not in str(failure.value)
    assert server.requests == []


def test_without_any_configuration_no_cluster_is_found_by_accident(tmp_path: Path) -> None:
    with pytest.raises(errors.Misconfigured, match="set KUBECONFIG"):
        load(environ={"HOME": str(tmp_path)})


def test_a_path_in_the_servers_address_is_kept(connect: Connect) -> None:
    with scripted(
        lambda request: [reply({"metadata": {"name": "a"}, "spec": {"className": "l40s"}})]
    ) as server:
        connect(f"{server.url}/k8s/clusters/c-1").get(GPU_CLAIMS, "a", namespace="t")

    assert server.requests[0].path == (
        "/k8s/clusters/c-1/apis/gpu.cozystack.io/v1alpha1/namespaces/t/gpuclaims/a"
    )
