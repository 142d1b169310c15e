"""Which API server the portal and the tests stand on, and that nothing is installed unasked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kube import config
from kube.gateway import Gateway
from kube.kinds import CRDS
from tests.kube.servers import RunningServer, start_dev_server
from tools.envtest import build
from tools.envtest.build import CannotBuild
from tools.install import install_portal
from tools.run import addresses
from tools.run.addresses import CannotStart
from tools.run.clusters import Cluster


@pytest.fixture
def bare_server(tmp_path: Path) -> Iterator[RunningServer]:
    """Somebody's cluster, which has never heard of the portal."""
    with start_dev_server(tmp_path / "server", crds=None) as server:
        yield server


def crds_of(server: RunningServer) -> list[str]:
    with Gateway.connect(config.load(server.kubeconfig)) as gateway:
        return [item.object.metadata.name for item in gateway.list(CRDS).items]


def test_a_cluster_is_a_word_or_a_file(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    kubeconfig.touch()

    assert Cluster.parse("dev").is_ours
    assert Cluster.parse("real").is_ours
    assert Cluster.parse(str(kubeconfig)).kubeconfig == kubeconfig
    with pytest.raises(CannotStart, match="there is no such file"):
        Cluster.parse(str(tmp_path / "none"))


def test_a_folder_stays_with_the_cluster_it_was_begun_with(tmp_path: Path) -> None:
    with addresses.opened(tmp_path, fresh=False) as data:
        Cluster("real").claim(data)
        Cluster("real").claim(data)

        with pytest.raises(CannotStart, match="CLUSTER=real"):
            Cluster("dev").claim(data)


def test_nothing_is_installed_where_nobody_says_yes(
    bare_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("YES", raising=False)

    with pytest.raises(CannotStart, match="nothing was installed"):
        Cluster.parse(str(bare_server.kubeconfig)).prepare()

    assert crds_of(bare_server) == []


def test_what_is_missing_is_installed_after_a_yes_and_not_asked_about_again(
    bare_server: RunningServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    cluster = Cluster.parse(str(bare_server.kubeconfig))

    monkeypatch.setenv("YES", "1")
    cluster.prepare()
    monkeypatch.delenv("YES")
    cluster.prepare()

    assert crds_of(bare_server) == [
        "gpuclaims.gpu.cozystack.io",
        "gpuclasses.gpu.cozystack.io",
        "gpunodes.gpu.cozystack.io",
    ]


def test_an_installation_can_be_repeated(bare_server: RunningServer) -> None:
    with Gateway.connect(config.load(bare_server.kubeconfig)) as gateway:
        assert install_portal(gateway) == install_portal(gateway)


def test_given_binaries_are_used_as_they_are(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = tmp_path / "etcd"
    given.touch(mode=0o755)
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(tmp_path))

    assert build.find("etcd") == given


def test_without_go_it_is_said_what_is_needed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "BIN", tmp_path / "bin")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("KUBEBUILDER_ASSETS", raising=False)

    with pytest.raises(CannotBuild, match="KUBEBUILDER_ASSETS"):
        build.find("etcd")
