from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from kube import errors
from kube.kinds import GPU_CLAIMS, NAMESPACES
from kube.statuses import error_from_answer, error_from_event, retry_after_seconds
from tests.kube.scripted import RESET, STALL, Act, Request, Script, listed, reply, scripted, status
from tests.kube.verbs import Connect, Verbs, connect

__all__ = ["connect"]

DENIED = 'admission webhook "gpuclaims.gpu.cozystack.io" denied the request: '
HTML = (
    b"<html><head><style>p{}</style></head><body><h1>429 Too Many Requests</h1><p>calm down</p></body></html>"
)


def always(answer: bytes | Act) -> Script:
    def script(request: Request) -> Iterator[bytes | Act]:
        yield answer

    return script


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (status(400, "BadRequest", 'strict decoding error: unknown field "spec.x"'), errors.BadRequest),
        (status(401, "Unauthorized", "Unauthorized"), errors.Unauthorized),
        (status(403, "Forbidden", "exceeded quota: count"), errors.Forbidden),
        (status(404, "NotFound", 'namespaces "t" not found', name="t", kind="namespaces"), errors.NotFound),
        (status(404, "NotFound", "the server could not find the requested resource"), errors.NotServed),
        (status(404, "", "not here", name="t"), errors.NotServed),
        (status(405, "MethodNotAllowed", "no"), errors.Unexpected),
        (status(409, "Conflict", "the object has been modified"), errors.Conflict),
        (status(409, "AlreadyExists", "already exists"), errors.AlreadyExists),
        (status(409, "NoNodeFits", DENIED + "no"), errors.Denied),
        (status(409, "Conflict", DENIED + "no"), errors.Denied),
        (status(403, "Forbidden", DENIED + "no"), errors.Denied),
        (status(400, "", DENIED + "no"), errors.Denied),
        (status(403, "", 'admission webhook "x" denied the request without explanation'), errors.Denied),
        (status(410, "Expired", "too old"), errors.Gone),
        (status(415, "UnsupportedMediaType", "no"), errors.Unexpected),
        (status(422, "Invalid", "spec.count"), errors.Invalid),
        (status(429, "TooManyRequests", "later"), errors.Unavailable),
        (status(500, "InternalError", "etcd"), errors.Unavailable),
        (status(504, "Timeout", "timed out"), errors.Unavailable),
        (reply(HTML, code=429), errors.Unavailable),
        (reply(b"Bad gateway", code=502), errors.Unavailable),
        (reply(b"", code=503), errors.Unavailable),
        (reply(b"404 page not found\n", code=404), errors.NotServed),
        (reply(b"<html>404: no such site</html>", code=404), errors.NotServed),
        (reply(b"", code=404), errors.NotServed),
        (reply(b"<html>login</html>", code=409), errors.Unexpected),
        (reply(b"", ("Location", "https://login.example/"), code=302), errors.Unexpected),
        (reply(b"null", code=403), errors.Forbidden),
        (reply(b'{"kind":"Status","details":null,"message":null}', code=403), errors.Forbidden),
        (reply(b'\xff\xfe{"kind"', code=500), errors.Unavailable),
        (reply(b"<html>welcome</html>"), errors.Unreadable),
        (reply(b""), errors.Unreadable),
        (reply(b'{"kind":"Status","status":"Success"}'), errors.Unreadable),
        (reply(b'{"metadata":{"name":"caf\xe9"}}'), errors.Unreadable),
        (RESET, errors.Unavailable),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{", errors.Unavailable),
        (b"220 smtp.example ESMTP\r\n\r\n", errors.Unavailable),
    ],
)
def test_every_failure_of_a_write_is_one_of_our_errors(
    connect: Connect, answer: bytes | Act, wanted: type[errors.KubeError]
) -> None:
    def script(request: Request) -> Iterator[bytes | Act]:
        yield answer
        if isinstance(answer, bytes):
            yield Act.CLOSE

    with scripted(script) as server, pytest.raises(errors.KubeError) as failure:
        connect(server.url).create(NAMESPACES, {"metadata": {"name": "a"}})

    assert type(failure.value) is wanted
    assert len(server.requests) == 1


@pytest.mark.parametrize("cut", [RESET, Act.CLOSE])
@pytest.mark.parametrize(
    ("method", "write"),
    [
        ("POST", lambda verbs: verbs.create(NAMESPACES, {"metadata": {"name": "a"}})),
        ("PUT", lambda verbs: verbs.replace(NAMESPACES, {"metadata": {"name": "a"}})),
        ("PATCH", lambda verbs: verbs.patch(NAMESPACES, "a", {"metadata": {"labels": {"x": "y"}}})),
        ("DELETE", lambda verbs: verbs.delete(NAMESPACES, "a", uid="u1")),
    ],
)
def test_a_write_is_never_sent_twice_whatever_becomes_of_its_connection(
    connect: Connect, method: str, write: Callable[[Verbs], object], cut: Act
) -> None:
    def script(request: Request) -> Iterator[bytes | Act]:
        yield listed() if request.method == "GET" else cut

    with scripted(script) as server:
        verbs = connect(server.url)
        verbs.list(NAMESPACES)  # leaves a connection behind that is kept alive
        with pytest.raises(errors.Unavailable):
            write(verbs)

    assert [request.method for request in server.requests] == ["GET", method]
    assert server.connections == 1


def test_a_webhook_that_cannot_be_asked_is_told_from_a_server_that_is_away(connect: Connect) -> None:
    message = (
        'Internal error occurred: failed calling webhook "gpuclaims.gpu.cozystack.io": failed to call webhook: '
        'Post "https://127.0.0.1:9443/validate-gpuclaim?timeout=10s": dial tcp: connect: connection refused'
    )

    with (
        scripted(always(status(500, "InternalError", message))) as server,
        pytest.raises(errors.AdmissionUnavailable) as failure,
    ):
        connect(server.url).create(GPU_CLAIMS, {"metadata": {"name": "a"}}, namespace="t")

    assert isinstance(failure.value, errors.Unavailable)


def test_a_denial_carries_the_webhooks_reason_causes_and_wait(connect: Connect) -> None:
    causes = [{"reason": "CapacityUnknown", "field": "spec.count", "message": '{"age": 3}'}, {}]
    answer = status(409, "CapacityUnknown", DENIED + "unknown", causes=causes, retryAfterSeconds=5)

    with scripted(always(answer)) as server, pytest.raises(errors.Denied) as failure:
        connect(server.url).create(GPU_CLAIMS, {"metadata": {"name": "a"}}, namespace="t")

    assert failure.value.code == 409
    assert failure.value.reason == "CapacityUnknown"
    assert failure.value.causes == (
        errors.Cause("CapacityUnknown", "spec.count", '{"age": 3}'),
        errors.Cause("", "", ""),
    )
    assert failure.value.retry_after_seconds == 5


def test_the_retry_after_header_goes_before_the_bodys(connect: Connect) -> None:
    answer = reply(HTML, ("Retry-After", "7"), code=429)

    with scripted(always(answer)) as server, pytest.raises(errors.Unavailable) as failure:
        connect(server.url).get(NAMESPACES, "a")

    assert failure.value.retry_after_seconds == 7


def test_an_html_body_is_shown_as_the_words_a_person_would_read_and_cut_short(connect: Connect) -> None:
    secret_at_the_end = b"<p>" + b"x" * 4000 + b"password"

    with (
        scripted(always(reply(HTML + secret_at_the_end, code=429))) as server,
        pytest.raises(errors.Unavailable) as failure,
    ):
        connect(server.url).get(NAMESPACES, "a")

    assert failure.value.message.startswith("HTTP 429: 429 Too Many Requests calm down")
    assert len(failure.value.message) < 300
    assert "password" not in failure.value.message


def test_a_server_that_takes_the_call_and_says_nothing_times_out(connect: Connect) -> None:
    with scripted(always(STALL)) as server, pytest.raises(errors.Unavailable, match="timed out"):
        connect(server.url, timeout=(1.0, 0.2)).get(NAMESPACES, "a")


def test_a_server_that_stops_in_the_middle_of_an_answer_times_out(connect: Connect) -> None:
    def script(request: Request) -> Iterator[bytes | Act]:
        yield b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{"
        yield STALL

    with scripted(script) as server, pytest.raises(errors.Unavailable, match="timed out"):
        connect(server.url, timeout=(1.0, 0.2)).get(NAMESPACES, "a")


def test_nobody_listening_is_unavailable_and_says_so(connect: Connect) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]

    with pytest.raises(errors.Unavailable, match=r"no answer from .*refused"):
        connect(f"http://127.0.0.1:{port}").get(NAMESPACES, "a")


@pytest.mark.parametrize("answer", [RESET, STALL, b"nonsense\r\n\r\n", reply(b"{"), reply(b"", code=500)])
def test_nothing_of_an_http_library_leaks_and_the_original_is_chained(
    connect: Connect, answer: bytes | Act
) -> None:
    with scripted(always(answer)) as server, pytest.raises(Exception) as failure:  # noqa: PT011
        connect(server.url, timeout=(1.0, 0.2)).list_all(NAMESPACES)

    assert type(failure.value).__module__ == "kube.errors"
    if answer != reply(b"", code=500):  # there, the answer itself is the original
        assert failure.value.__cause__ is not None


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (None, None),
        ("", None),
        ("120", 120),
        (" 0 ", 0),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("٣", None),
        ("9" * 40, 999999999),
    ],
)
def test_a_retry_after_is_read_as_seconds_or_not_at_all(value: str | None, seconds: int | None) -> None:
    assert retry_after_seconds(value, now=datetime.now(UTC)) == seconds


def test_a_retry_after_can_be_a_date() -> None:
    now = datetime(2026, 5, 1, 12, 0, 0, 250000, tzinfo=UTC)
    at = (now + timedelta(seconds=90)).replace(microsecond=0)

    assert retry_after_seconds(format_datetime(at, usegmt=True), now=now) == 90
    assert retry_after_seconds("Fri, 01 May 2026 11:00:00 GMT", now=now) == 0
    assert retry_after_seconds("Fri, 01 May 2026 12:01:00 -0000", now=now) == 60


def test_an_error_inside_a_stream_is_read_by_the_code_it_carries() -> None:
    expired = b'{"kind":"Status","code":410,"reason":"Expired","message":"too old resource version: 1 (9)"}'

    assert type(error_from_event(expired)) is errors.Gone
    assert type(error_from_event(b'{"kind":"Status","code":500,"message":"x"}')) is errors.Unavailable
    assert type(error_from_event(b'{"kind":"Namespace"}')) is errors.Unexpected


def test_a_status_of_another_code_than_the_answer_goes_by_the_answer() -> None:
    error = error_from_answer(503, b'{"kind":"Status","code":404,"reason":"NotFound","message":"x"}')

    assert type(error) is errors.Unavailable
    assert error.code == 503
