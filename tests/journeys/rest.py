"""A program that uses the REST API with a session, as scripts do."""

from __future__ import annotations

import re
from typing import Any

import urllib3

from tests.journeys.stack import RunningStack

_CSRF_FIELD = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')


class Client:
    """One signed-in user. Threads may share it; every answer is (status, decoded body)."""

    def __init__(self, stack: RunningStack, name: str, *, connections: int = 8) -> None:
        self._url = stack.url
        self._pool = urllib3.PoolManager(maxsize=connections, block=True, retries=False, timeout=60.0)
        form = self._pool.request("GET", f"{self._url}/login/")
        token = _CSRF_FIELD.search(form.data.decode())
        assert token, "the login form has no CSRF token"
        cookies = _cookies(form)
        answer = self._pool.request(
            "POST",
            f"{self._url}/login/",
            fields={"username": name, "password": "demo", "csrfmiddlewaretoken": token[1]},
            encode_multipart=False,
            headers={"Cookie": _header(cookies), "Referer": f"{self._url}/login/"},
            redirect=False,
        )
        assert answer.status == 302, answer.data[:500]
        cookies |= _cookies(answer)
        self._headers = {"Cookie": _header(cookies), "X-CSRFToken": cookies["csrftoken"]}

    def get(self, path: str) -> tuple[int, Any]:
        return self._call("GET", path)

    def post(self, path: str, body: object) -> tuple[int, Any]:
        return self._call("POST", path, json=body)

    def delete(self, path: str) -> tuple[int, Any]:
        return self._call("DELETE", path)

    def order(self, namespace: str, name: str, *, class_name: str, count: int = 1) -> tuple[int, Any]:
        body = {"metadata": {"name": name}, "spec": {"className": class_name, "count": count}}
        return self.post(f"/api/v1/tenants/{namespace}/claims/", body)

    def release(self, namespace: str, name: str) -> tuple[int, Any]:
        return self.delete(f"/api/v1/tenants/{namespace}/claims/{name}/")

    def _call(self, method: str, path: str, **options: Any) -> tuple[int, Any]:
        answer = self._pool.request(method, f"{self._url}{path}", headers=self._headers, **options)
        return answer.status, answer.json() if answer.data else None


def _cookies(answer: urllib3.BaseHTTPResponse) -> dict[str, str]:
    return dict(line.split(";", 1)[0].split("=", 1) for line in answer.headers.getlist("Set-Cookie"))


def _header(cookies: dict[str, str]) -> str:
    return "; ".join(f"{name}={value}" for name, value in cookies.items())
