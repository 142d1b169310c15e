"""One request as the API server sees it: who, what, and with which options."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import parse_qsl

from kube.devserver import protobuf
from kube.devserver.auth import User
from kube.devserver.decoding import read_json, repeated_fields
from kube.devserver.rbac import Action
from kube.devserver.selectors import selected_name
from kube.devserver.served import Object
from kube.devserver.status import bad_request, unsupported_media_type

_VERBS = {
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
    "GET": "get",
    "HEAD": "get",
}
_JSON = "application/json"
_YAML = ("application/yaml", "application/apply-patch+yaml")


@dataclass(frozen=True)
class Target:
    """What a URL path names. ``verb`` is the Kubernetes verb, not the HTTP method."""

    verb: str
    group: str
    version: str
    plural: str
    namespace: str
    name: str
    subresource: str

    def action(self) -> Action:
        return Action(self.verb, self.group, self.plural, self.subresource, self.namespace, self.name)


def parse_target(method: str, path: str, query: dict[str, str]) -> Target | None:
    """Read a path below /api or /apis, or give None where it names no resource."""
    parts = [part for part in path.split("/") if part]
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 1:
        namespace = rest[1]
        if len(rest) > 2 and rest[2] not in ("status", "finalize"):
            rest = rest[2:]
    if len(rest) > 3:
        return None
    plural, name, subresource = (*rest, "", "")[:3]
    verb = _VERBS.get(method, method.lower())
    if verb == "get" and not name:
        verb = "watch" if query.get("watch") in ("true", "1") else "list"
        # A list of one name is authorized as that object, so that resourceNames can allow it.
        name = selected_name(query.get("fieldSelector", ""))
    elif verb == "delete" and not name:
        verb = "deletecollection"
    return Target(verb, group, version, plural, namespace, name, subresource)


@dataclass
class Request:
    """A decoded request."""

    method: str
    path: str
    query: dict[str, str]
    accept: str
    content_type: str
    body: bytes
    user: User

    @staticmethod
    def read_query(raw: bytes) -> dict[str, str]:
        return dict(parse_qsl(raw.decode("latin-1"), keep_blank_values=True)) if raw else {}

    @property
    def is_dry_run(self) -> bool:
        """Say whether nothing may be stored. Raise 400 for another value than All."""
        value = self.query.get("dryRun")
        if value not in (None, "", "All"):
            raise bad_request(f'dryRun: Unsupported value: "{value}": supported values: "All"')
        return value == "All"

    def flag(self, name: str) -> bool:
        return self.query.get(name, "").lower() in ("true", "1")

    def decode(self) -> Any:
        """Give the body as data, whatever of JSON and YAML it is in."""
        kind = self.content_type.partition(";")[0].strip()
        if kind in _YAML:
            return self._decode_yaml()
        if kind == protobuf.MEDIA_TYPE:
            return protobuf.decode(self.body)
        if kind and kind != _JSON and not kind.endswith("+json"):
            raise unsupported_media_type(kind, "application/json, application/yaml")
        try:
            return read_json(self.body)
        except (ValueError, RecursionError) as error:
            raise bad_request(
                f"the object provided is unrecognized (must be of type {_JSON}): {error}"
            ) from error

    def repeated_fields(self) -> list[str]:
        """Give the paths of fields that a JSON body gives twice."""
        is_json = self.content_type.partition(";")[0].strip() in ("", _JSON)
        return repeated_fields(self.body) if is_json else []

    def _decode_yaml(self) -> Any:
        import yaml  # on demand: clients send JSON nearly always

        try:
            return yaml.load(self.body, Loader=yaml_loader())  # noqa: S506 - a safe loader
        except yaml.YAMLError as error:
            raise bad_request(f"error converting YAML to JSON: {error}") from error

    def decode_object(self) -> Object:
        content = self.decode()
        if not isinstance(content, dict):
            raise bad_request("json: cannot unmarshal into Go value of type map[string]interface {}")
        return content


@cache
def yaml_loader() -> Any:
    """Give a safe loader that leaves times as text, as the conversion to JSON does."""
    import yaml

    fast = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    resolvers = {
        letter: [entry for entry in entries if entry[0] != "tag:yaml.org,2002:timestamp"]
        for letter, entries in fast.yaml_implicit_resolvers.items()
    }
    return type("TextTimesLoader", (fast,), {"yaml_implicit_resolvers": resolvers})
