from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from kube import errors
from kube.config import ClusterConfig
from kube.credentials import Credentials, Fixed, TokenFile
from kube.kinds import GPU_CLAIMS, NODES
from tests.kube.scripted import Request, reply, scripted, status
from tests.kube.verbs import Connect, connect

__all__ = ["connect"]


CLAIM = {"metadata": {"name": "a", "namespace": "t"}, "spec": {"className": "l40s"}}


def echo(request: Request) -> Iterator[bytes]:
    """Answer a write with what was sent, everything else with a claim."""
    yield reply(request.body if request.method in ("POST", "PUT") else CLAIM)


def test_a_users_own_token_goes_alone(connect: Connect) -> None:
    with scripted(echo) as server:
        service = connect(ClusterConfig(server=server.url, credentials=Fixed("Bearer service")))
        service.as_user("alice", ["g"]).with_token("alices-own").get(GPU_CLAIMS, "a", namespace="t")

    (request,) = server.requests
    assert request.one("Authorization") == "Bearer alices-own"
    assert request.all("Impersonate-User") == []


@pytest.mark.parametrize("token", ["", "  ", "a b\nc: d", "tökén"])
def test_a_token_that_cannot_be_one_never_leaves_and_never_shows(connect: Connect, token: str) -> None:
    with scripted(echo) as server, pytest.raises(errors.Misconfigured) as failure:
        connect(server.url).with_token(token)

    assert "c: d" not in str(failure.value)
    assert "tökén" not in str(failure.value)


def test_a_rotated_token_file_is_used_at_the_next_call(connect: Connect, tmp_path: Path) -> None:
    token = tmp_path / "token"
    token.write_text("old\n")

    with scripted(echo) as server:
        verbs = connect(ClusterConfig(server=server.url, credentials=TokenFile(token)))
        verbs.get(GPU_CLAIMS, "a", namespace="t")
        rotated = tmp_path / "rotated"
        rotated.write_text("new\n")
        rotated.replace(token)
        verbs.get(GPU_CLAIMS, "a", namespace="t")

    assert [request.one("Authorization") for request in server.requests] == ["Bearer old", "Bearer new"]


class Renewing(Credentials):
    """Credentials that are newer after each reload."""

    def __init__(self) -> None:
        self.reloads = 0

    def authorization(self) -> str:
        return f"Bearer {self.reloads}"

    def reload(self, refused: str | None) -> None:
        self.reloads += 1


def test_an_answer_401_is_asked_again_once_with_a_newer_token(connect: Connect) -> None:
    def script(request: Request) -> Iterator[bytes]:
        fresh = request.one("Authorization") == "Bearer 1"
        yield reply(CLAIM) if fresh else status(401, "Unauthorized", "Unauthorized")

    with scripted(script) as server:
        verbs = connect(ClusterConfig(server=server.url, credentials=Renewing()))
        verbs.create(GPU_CLAIMS, CLAIM, namespace="t")

    assert len(server.requests) == 2
    assert server.requests[0].body == server.requests[1].body


def test_a_401_that_stays_is_unauthorized_after_one_more_try(connect: Connect) -> None:
    with scripted(lambda request: [status(401, "Unauthorized", "Unauthorized")]) as server:
        for credentials, attempts in ((Renewing(), 2), (Fixed("Bearer x"), 1)):
            server.requests.clear()
            with pytest.raises(errors.Unauthorized):
                connect(ClusterConfig(server=server.url, credentials=credentials)).get(NODES, "a")
            assert len(server.requests) == attempts


def test_a_users_401_does_not_touch_the_services_token(connect: Connect) -> None:
    credentials = Renewing()

    with scripted(lambda request: [status(401, "Unauthorized", "Unauthorized")]) as server:
        verbs = connect(ClusterConfig(server=server.url, credentials=credentials)).with_token("alices-own")
        with pytest.raises(errors.Unauthorized):
            verbs.get(NODES, "a")

    assert (credentials.reloads, len(server.requests)) == (0, 1)
