"""The portal's own account uses each right that deploy/rbac grants it, and needs no other. Users' calls are the users' affair."""

from __future__ import annotations

import urllib.request
from pathlib import Path

from tests.controller.recorder import recording
from tests.controller.rights import granted
from tests.portal.processes import Portal
from tests.waiting import until


def test_the_portal_reads_what_its_mirror_shows_and_nothing_else(portal: Portal, tmp_path: Path) -> None:
    has = granted("gpu-portal")
    with recording(portal.server.kubeconfig, tmp_path / "recorder") as recorder:
        own = {"KUBECONFIG": str(recorder.kubeconfig)}
        portal.mirror(**own)
        until(lambda: has <= recorder.seen, what="the mirror watches everything")
        portal.worker(**own)
        portal.beat(SYNC_SECONDS="1", **own)
        address = portal.web(**own)

        def is_ready() -> bool:
            try:
                with urllib.request.urlopen(f"{address}/readyz", timeout=5) as answer:  # noqa: S310  # our own http address
                    return bool(answer.status == 200)
            except OSError:
                return False

        until(is_ready, what="everything is ready, the full sync included", seconds=30.0)
        portal.stop()

    assert recorder.seen == has
