"""The webhook's certificate: made here or given as files, renewed in time, taken up without a restart.

A new authority is published beside the old one before any connection meets a certificate it signed: API servers that have not read
the new bundle yet go on trusting what they see.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog

from kube.certificates import ServerFiles, keep_server_files

log = structlog.get_logger(__name__)

AUTHORITY_NAME: Final = "GPU Portal webhook"
CHECK_SECONDS: Final = 60.0
OVERLAP_SECONDS: Final = 10.0
"""Time from publishing a new authority to using it: a write, a watch event in every API server, and a margin."""

Source = Callable[[], ServerFiles]
"""Gives the files to use now, having made or renewed them if that is its business."""


def made_here(folder: Path, names: Iterable[str], *, now: Callable[[], datetime]) -> Source:
    """A certificate from an authority of our own, kept in the folder."""
    named = list(names)
    return lambda: keep_server_files(folder, named, now=now(), authority_name=AUTHORITY_NAME)


def given(files: ServerFiles) -> Source:
    """Files that somebody else keeps current, such as a mounted Secret."""
    return lambda: files


@dataclass(frozen=True)
class _Contents:
    """What the files said."""

    ca: bytes
    certificate: bytes
    key: bytes = field(repr=False)


class WebhookTls:
    """``context`` for the server; ``ca`` for whoever must trust it, read anew as it may change at any time."""

    def __init__(
        self,
        source: Source,
        *,
        check_seconds: float = CHECK_SECONDS,
        overlap_seconds: float = OVERLAP_SECONDS,
    ) -> None:
        self._source = source
        self._check_seconds = check_seconds
        self._overlap_seconds = overlap_seconds
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        files = source()
        self._contents = _read(files)
        self.ca = self._contents.ca
        self._use(files)

    async def keep_renewed(self, on_new_authority: Callable[[], None]) -> None:
        """Take up whatever the source gives, for ever. ``on_new_authority``: ``ca`` is another one, publish it now."""
        while True:
            await asyncio.sleep(self._check_seconds)
            try:
                await self._renew(on_new_authority)
            except (
                OSError,
                ssl.SSLError,
                ValueError,
            ) as error:  # half written, perhaps: what is in use goes on
                log.error("the webhook's certificate cannot be renewed, will try again", error=str(error))

    async def _renew(self, on_new_authority: Callable[[], None]) -> None:
        files = self._source()
        contents = _read(files)
        if contents == self._contents:
            return
        if contents.ca != self._contents.ca:
            self.ca = contents.ca + self._contents.ca
            on_new_authority()
            await asyncio.sleep(self._overlap_seconds)
        self._use(files)
        self._contents = contents
        log.info("the webhook uses a new certificate")

    def _use(self, files: ServerFiles) -> None:
        self.context.load_cert_chain(files.certificate, files.key)  # connections made from now on use it


def _read(files: ServerFiles) -> _Contents:
    ca, certificate, key = (path.read_bytes() for path in (files.ca, files.certificate, files.key))
    return _Contents(ca if ca.endswith(b"\n") else ca + b"\n", certificate, key)
