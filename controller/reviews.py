"""AdmissionReview in, AdmissionReview out: bytes to values and back, no decision made here.

A denial carries each refusal's reason and numbers as data in ``status.details.causes``, so they travel from the ledger to the
button without being parsed out of a sentence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import Raw, Struct

from gpu.fit import Order, Reason, Refusal
from gpu.resources import GPUClaim, GPUClass
from gpu.sentences import refusals_to_causes, sentence

API_VERSION: Final = "admission.k8s.io/v1"
RETRY_AFTER_SECONDS: Final = 2
CONFLICT: Final = 409
UNPROCESSABLE: Final = 422


class AdmissionRequest(Struct, rename="camel", kw_only=True):
    """The part of an AdmissionRequest that is read. ``object`` is decoded once its kind is known."""

    uid: str
    operation: str = ""
    namespace: str = ""
    name: str = ""
    dry_run: bool = False
    object: Raw = Raw(b"null")


class _Review(Struct):
    request: AdmissionRequest


_decode_review: Final = msgspec.json.Decoder(_Review).decode
_decode_claim: Final = msgspec.json.Decoder(GPUClaim).decode
_decode_class: Final = msgspec.json.Decoder(GPUClass).decode
_encode: Final = msgspec.json.Encoder().encode


def read_review(body: bytes) -> AdmissionRequest:
    """Decode a review. Raises msgspec.DecodeError for anything else."""
    return _decode_review(body).request


def read_claim(request: AdmissionRequest) -> GPUClaim:
    """Give the claim a request is about. Raises msgspec.DecodeError when it is none."""
    return _decode_claim(request.object)


def read_class(request: AdmissionRequest) -> GPUClass:
    """Give the class as the request would leave it. Raises msgspec.DecodeError when it is none."""
    return _decode_class(request.object)


def order_of(claim: GPUClaim, namespace: str) -> Order:
    """What the claim orders. The namespace is the request's: the body may leave its own out."""
    return Order(
        namespace=namespace or claim.metadata.namespace,
        class_name=claim.spec.class_name,
        count=claim.spec.count,
        set_name=claim.spec.set_name,
    )


def allow(uid: str, *warnings: str) -> bytes:
    """Admit. Whoever asked sees the warnings as Warning headers."""
    response: dict[str, Any] = {"uid": uid, "allowed": True}
    if warnings:
        response["warnings"] = warnings
    return _answer(response)


def deny_order(uid: str, refusals: Sequence[Refusal]) -> bytes:
    """Refuse with every reason. The first one is the Status' own; not knowing is worth asking again soon."""
    details: dict[str, Any] = {"causes": refusals_to_causes(refusals)}
    if any(refusal.reason is Reason.CAPACITY_UNKNOWN for refusal in refusals):
        details["retryAfterSeconds"] = RETRY_AFTER_SECONDS
    message = " ".join(sentence(refusal) for refusal in refusals)
    return deny(uid, code=CONFLICT, reason=str(refusals[0].reason), message=message, details=details)


def deny(uid: str, *, code: int, reason: str, message: str, details: dict[str, Any] | None = None) -> bytes:
    status: dict[str, Any] = {
        "metadata": {},
        "status": "Failure",
        "code": code,
        "reason": reason,
        "message": message,
    }
    if details:
        status["details"] = details
    return _answer({"uid": uid, "allowed": False, "status": status})


def _answer(response: dict[str, Any]) -> bytes:
    return _encode({"apiVersion": API_VERSION, "kind": "AdmissionReview", "response": response})
