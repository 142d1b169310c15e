"""A claim as its tenant may see it: no node names, wherever they might stand.

The API server shows them to whoever may read the object; the portal does not. Messages of conditions are replaced by words made
from type and reason, so that a node's name in a message cannot slip through. What the API server and kubectl keep in the metadata for
themselves repeats keys and values of the status, and goes as a whole.
"""

from __future__ import annotations

from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

_HIDDEN: Final = ("nodeName", "refusedNodes")
_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"

WORDS: Final = {
    ("Bound", "Allocated"): "The units are held on a node.",
    ("Bound", "NodeGone"): "The node is gone; the order keeps its place and waits for another one.",
    (
        "Bound",
        "NodeRefused",
    ): "The node refused to start the VM; the order keeps its place and waits for another one.",
    ("Bound", "NoCapacity"): "The order keeps its place and waits until enough is free.",
    ("Bound", "ClassGone"): "The offer no longer exists.",
    ("Attached", "VirtualMachineRunning"): "A VM runs with it.",
    ("Attached", "VirtualMachineOff"): "The VM is off; the units stay held.",
    ("Attached", "NeverAttached"): "No VM has run with it yet.",
    ("Healthy", "Healthy"): "Nothing is wrong with it.",
    ("Healthy", "NodeCordoned"): "The node takes no new VMs for now.",
    ("Healthy", "NodeNotReady"): "The node does not answer.",
    ("Healthy", "OverCommitted"): "The node has fewer working units than are held on it.",
    (
        "Healthy",
        "ClassChanged",
    ): "The offer was changed and no longer covers this order; the units stay held.",
}
"""What a tenant reads for the reason of a condition. What is not listed has no words here, only its reason."""


class _Body(Struct, rename="camel", omit_defaults=True):
    """The members of a claim; all but status and metadata pass through as they are."""

    api_version: Raw | UnsetType = UNSET
    kind: Raw | UnsetType = UNSET
    metadata: dict[str, Raw] | UnsetType = UNSET
    spec: Raw | UnsetType = UNSET
    status: dict[str, Any] | UnsetType = UNSET


_decoder: Final = msgspec.json.Decoder(_Body)
_annotations: Final = msgspec.json.Decoder(dict[str, Raw] | None)


def for_tenant(raw: bytes) -> bytes:
    """Give the claim's JSON without anything that names a node."""
    body = _decoder.decode(raw)
    if body.metadata:
        body.metadata.pop("managedFields", None)
        _forget_applied(body.metadata)
    if body.status:
        for member in _HIDDEN:
            body.status.pop(member, None)
        for condition in body.status.get("conditions", ()):
            condition["message"] = words_of(condition.get("type", ""), condition.get("reason", ""))
    return msgspec.json.encode(body)


def _forget_applied(metadata: dict[str, Raw]) -> None:
    """Remove what kubectl noted as applied: of a claim that was saved and restored, that is the status as well."""
    annotations = _annotations.decode(metadata.get("annotations", b"null"))
    if annotations and annotations.pop(_APPLIED, None) is not None:
        metadata["annotations"] = Raw(msgspec.json.encode(annotations))


def words_of(condition_type: str, reason: str) -> str:
    return WORDS.get((condition_type, reason), "")
