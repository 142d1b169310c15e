"""An admission webhook that answers as a test says, and remembers what it was asked."""

from __future__ import annotations

import base64
import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from kube.certificates import keep_server_files

Review = dict[str, Any]
Verdict = Callable[[Review], dict[str, Any]]


def allow(review: Review) -> dict[str, Any]:
    return {"allowed": True}


class Reviewer:
    """A running webhook. ``verdict`` can be changed at any time; ``asked`` are the requests so far."""

    def __init__(self, url: str, ca_bundle: bytes) -> None:
        self.url = url
        self.ca_bundle = base64.b64encode(ca_bundle).decode()
        self.verdict: Verdict = allow
        self.asked: list[Review] = []

    def configuration(self, name: str, rule: dict[str, Any], **changes: Any) -> dict[str, Any]:
        """Give a ValidatingWebhookConfiguration that asks this webhook."""
        webhook = {
            "name": f"{name}.example.com",
            "admissionReviewVersions": ["v1"],
            "sideEffects": "None",
            "clientConfig": {"url": self.url, "caBundle": self.ca_bundle},
            "rules": [rule],
            "timeoutSeconds": 5,
            **changes,
        }
        return {"metadata": {"name": name}, "webhooks": [webhook]}


@contextmanager
def running_reviewer(folder: Path) -> Iterator[Reviewer]:
    """Serve a webhook over HTTPS on loopback."""
    files = keep_server_files(folder, ["127.0.0.1"], now=datetime.now(UTC), authority_name="reviewer")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        # Head and body in one packet: two small ones wait 40 ms for each other.
        wbufsize = -1

        def do_POST(self) -> None:
            envelope = json.loads(self.rfile.read(int(self.headers["content-length"])))
            request = envelope["request"]
            reviewer.asked.append(request)
            response = {"uid": request["uid"], **reviewer.verdict(request)}
            body = json.dumps({**envelope, "response": response}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the test looks at what was asked."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(files.certificate, files.key)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    server.daemon_threads = True
    reviewer = Reviewer(f"https://127.0.0.1:{server.server_address[1]}/review", files.ca_bundle)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield reviewer
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
