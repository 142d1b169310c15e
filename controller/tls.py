"""The webhook's certificate: made once, renewed in time, taken up without a restart."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Callable, Iterable
from datetime import datetime
from pathlib import Path
from typing import Final

import structlog

from kube.certificates import ServerFiles, keep_server_files

log = structlog.get_logger(__name__)

AUTHORITY_NAME: Final = "GPU Portal webhook"
RENEWAL_CHECK_SECONDS: Final = 3600.0


class WebhookTls:
    """``context`` for the server; ``ca`` for whoever must trust it, read anew as it may change with a renewal."""

    def __init__(self, folder: Path, names: Iterable[str], *, now: Callable[[], datetime]) -> None:
        self._folder = folder
        self._names = list(names)
        self._now = now
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.minimum_version = ssl.TLSVersion.TLSv1_2
        self._files = self._load()

    @property
    def ca(self) -> bytes:
        return self._files.ca_bundle

    async def keep_renewed(self) -> None:
        """Renew the certificate whenever it is due, for ever."""
        while True:
            await asyncio.sleep(RENEWAL_CHECK_SECONDS)
            self._files = self._load()

    def _load(self) -> ServerFiles:
        files = keep_server_files(self._folder, self._names, now=self._now(), authority_name=AUTHORITY_NAME)
        self.context.load_cert_chain(files.certificate, files.key)  # connections made from now on use it
        return files
