"""What an API server says of a document, in a form in which two servers can be compared."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

from kube.kinds import GPU_CLASSES
from tests.cluster.corpus import Document, Spec
from tests.kube.wire import Answer, Wire

_GENERATED: Final = re.compile(r"\b([bB])-[bcdfghjklmnpqrstvwxz2456789]{5}\b")


@dataclass(frozen=True)
class Verdict:
    """An answer without what is another in each: times, uids, generated names, and the order of faults found side by side."""

    code: int
    reason: str = ""
    message: str = ""
    causes: tuple[tuple[str, str, str], ...] = ()
    warnings: tuple[str, ...] = ()
    spec: Any = None
    labels: Any = None

    def __str__(self) -> str:
        said = [f"{self.code} {self.reason} {self.message}", *map(str, self.causes), *self.warnings]
        return "\n      ".join([*said, *([f"spec: {self.spec}"] if self.code < 300 else [])])


def judge(wire: Wire, document: Document) -> Verdict:
    """Try the document, dry and with strict validation."""
    options = {"dryRun": "All", "fieldValidation": "Strict", "fieldManager": "corpus"}
    if document.before is None:
        return _verdict(wire.send("POST", GPU_CLASSES.path(), document.body, **options))
    return _verdict(wire.send("PUT", GPU_CLASSES.path(name=document.name), document.body, **options))


def keep(wire: Wire, name: str, spec: Spec) -> str:
    """Store an object for updates to be tried on; give its resourceVersion."""
    created = wire.create(GPU_CLASSES, {"metadata": {"name": name}, "spec": spec})
    assert created.code == 201, created.body
    version: str = created.json["metadata"]["resourceVersion"]
    return version


def _verdict(answer: Answer) -> Verdict:
    body = answer.json
    warnings = tuple(answer.headers.getlist("warning")) if hasattr(answer.headers, "getlist") else ()
    if answer.code < 300:
        metadata = body["metadata"]
        return Verdict(
            answer.code,
            warnings=warnings,
            spec=_exact(body.get("spec")),
            labels=(
                metadata.get("labels"),
                metadata.get("annotations"),
                metadata.get("finalizers"),
                "status" in body,
            ),
        )
    causes = tuple(sorted((reason, field, _named(message)) for reason, field, message in answer.causes))
    message = _message(_named(body["message"]), causes)
    return Verdict(answer.code, body.get("reason", ""), message, causes, warnings)


def _named(text: str) -> str:
    """Put one name for all that were generated of the corpus's prefixes."""
    return _GENERATED.sub(r"\1-generated", text)


def _message(text: str, causes: tuple[tuple[str, str, str], ...]) -> str:
    """Give the message with its faults in order. Several stand in brackets, in the order in which they were found."""
    head, opened, listed = text.partition(" is invalid: [")
    if not opened:
        return text
    for _, field, message in causes:
        part = f"{field}: {message}"
        assert part in listed, f"a cause that the message does not tell: {part!r} in {text!r}"
    told = sorted({f"{field}: {message}" for _, field, message in causes})
    assert len(listed) == len(", ".join(told)) + 1, f"a message that tells more than its causes: {text!r}"
    return f"{head}{opened}{', '.join(told)}]"


def _exact(value: Any) -> Any:
    """Tell 2 from 2.0 and 1 from true, which compare equal in Python."""
    if isinstance(value, dict):
        return {key: _exact(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_exact(item) for item in value]
    return value if value is None or isinstance(value, str) else (type(value).__name__, value)
