"""The client of admission webhooks: HTTPS by URL, connections kept open between requests."""

from __future__ import annotations

import base64
import binascii
import ssl
import uuid
from typing import TYPE_CHECKING, Any, Final

import msgspec

from kube.devserver.served import Object

if TYPE_CHECKING:
    import aiohttp

_DEFAULT_TIMEOUT_SECONDS: Final = 10

Webhook = dict[str, Any]


class Unreachable(Exception):
    """A webhook gave no usable answer."""


class WebhookClient:
    """Asks webhooks. Its HTTP library is loaded on first use: a server without webhooks starts faster."""

    def __init__(self) -> None:
        self._sessions: dict[str, aiohttp.ClientSession] = {}

    def warm_up(self) -> None:
        import aiohttp

        _ = aiohttp

    async def close(self) -> None:
        for session in self._sessions.values():
            await session.close()

    async def call(self, webhook: Webhook, review: Object) -> Object:
        """Send an AdmissionReview; give its response. Raise Unreachable."""
        config = webhook.get("clientConfig") or {}
        url = config.get("url")
        if not url:
            raise Unreachable("only webhooks by url can be reached from this server")
        seconds = webhook.get("timeoutSeconds") or _DEFAULT_TIMEOUT_SECONDS
        uid = str(uuid.uuid4())
        envelope = {
            "kind": "AdmissionReview",
            "apiVersion": "admission.k8s.io/v1",
            "request": {"uid": uid, **review},
        }
        text = await self._post(url, config.get("caBundle") or "", msgspec.json.encode(envelope), seconds)
        try:
            response: Any = msgspec.json.decode(text)["response"]
        except (msgspec.DecodeError, KeyError, TypeError) as error:
            raise Unreachable(f"the answer is no AdmissionReview: {error}") from error
        if not isinstance(response, dict) or response.get("uid") != uid:
            raise Unreachable(f"expected response.uid={uid!r}")
        return dict(response)

    async def _post(self, url: str, ca_bundle: str, body: bytes, seconds: int) -> bytes:
        import aiohttp

        session = self._session(ca_bundle)
        try:
            try:
                return await self._try_post(session, url, body, seconds)
            except (aiohttp.ServerDisconnectedError, ConnectionResetError):
                # A kept connection that the webhook closed meanwhile, as after its restart: a new one may do.
                return await self._try_post(session, url, body, seconds)
        except TimeoutError as error:
            raise Unreachable(f'Post "{url}?timeout={seconds}s": context deadline exceeded') from error
        except (aiohttp.ClientError, OSError) as error:
            raise Unreachable(f'Post "{url}?timeout={seconds}s": {error}') from error

    @staticmethod
    async def _try_post(session: aiohttp.ClientSession, url: str, body: bytes, seconds: int) -> bytes:
        import aiohttp

        async with session.post(
            url,
            params={"timeout": f"{seconds}s"},
            data=body,
            headers={"content-type": "application/json"},
            timeout=aiohttp.ClientTimeout(total=seconds),
        ) as answer:
            text = await answer.read()
        if answer.status != 200:
            raise Unreachable(f'Post "{url}": {answer.status}: {text[:200].decode(errors="replace")}')
        return text

    def _session(self, ca_bundle: str) -> aiohttp.ClientSession:
        import aiohttp

        session = self._sessions.get(ca_bundle)
        if session is None:
            try:
                pem = base64.b64decode(ca_bundle).decode("ascii") if ca_bundle else None
                context = ssl.create_default_context(cadata=pem)
            except (ssl.SSLError, binascii.Error, UnicodeDecodeError) as error:
                raise Unreachable(f"unable to load root certificates: {error}") from error
            connector = aiohttp.TCPConnector(ssl=context, limit=64, keepalive_timeout=60)
            session = self._sessions[ca_bundle] = aiohttp.ClientSession(connector=connector)
        return session
