"""Our GPUClass and the given one are the same contract, and the dev server reads it as the API server does."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from kube.kinds import GPU_CLASSES
from tests.cluster.corpus import Document, corpus
from tests.cluster.verdicts import Verdict, judge, keep
from tests.kube.servers import ROOT, RunningServer, start_real_server
from tests.kube.wire import Wire

SHARED = Path(os.environ.get("GPU_PORTAL_SHARED", ROOT.parent / "shared"))
SHOWN = 40


@pytest.fixture(scope="module")
def given_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer | None]:
    """A real API server with the CRD as it was given, None where that is not beside the checkout."""
    seed = SHARED / "seed"
    if not seed.is_dir():
        yield None
        return
    server = start_real_server(tmp_path_factory.mktemp("given"), crds=seed)
    yield server
    server.kill()


@pytest.mark.timeout(600)
def test_every_document_gets_the_same_verdict_in_the_same_words_everywhere(
    given_server: RunningServer | None,
    real_server: RunningServer,
    dev_server: RunningServer,
    capsys: pytest.CaptureFixture[str],
) -> None:
    documents = corpus()
    servers = {"our CRD, API server": real_server, "our CRD, dev server": dev_server}
    if given_server is not None:
        servers["given CRD, API server"] = given_server

    verdicts = {
        name: _verdicts(Wire.connect(server.kubeconfig), documents) for name, server in servers.items()
    }

    differences = [
        "\n".join(
            [
                document.label,
                *(f"  {name}:\n      {verdict}" for name, verdict in zip(verdicts, said, strict=True)),
            ]
        )
        for document, *said in zip(documents, *verdicts.values(), strict=True)
        if any(verdict != said[0] for verdict in said)
    ]
    with capsys.disabled():
        print(f"\n{len(documents)} documents, {len(differences)} differences between {', '.join(servers)}")
        if given_server is None:
            print(f"Not compared with the CRD that was given: {SHARED} is not there.")
    assert len(documents) >= 300
    assert not differences, "\n" + "\n".join(differences[:SHOWN])


def _verdicts(wire: Wire, documents: list[Document]) -> list[Verdict]:
    """Judge them one after the other; what an update replaces is stored for it before and removed after."""
    found = []
    for document in documents:
        if document.before is None:
            found.append(judge(wire, document))
            continue
        version = keep(wire, document.name, document.before)
        body = json.loads(document.body)
        body["metadata"]["resourceVersion"] = version
        found.append(judge(wire, Document(document.label, json.dumps(body).encode(), document.before)))
        wire.delete(GPU_CLASSES, document.name)
    return found
