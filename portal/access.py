"""Who may see and press what. The API server's RBAC decides what really happens; this only decides what to show."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from functools import wraps
from typing import TYPE_CHECKING, Concatenate, Final, ParamSpec, TypeVar, cast

from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest

from portal.tenancy import tree

if TYPE_CHECKING:
    from django.contrib.auth.models import AnonymousUser

    from portal.http import PortalRequest
    from portal.models import User

P = ParamSpec("P")
R = TypeVar("R")


class Right(IntEnum):
    """What a person may do in a tenant; a higher one includes the lower ones."""

    VIEW = 1
    USE = 2
    ADMIN = 3


_LEVELS: Final = (
    ("-super-admin", Right.ADMIN),
    ("-admin", Right.ADMIN),
    ("-use", Right.USE),
    ("-view", Right.VIEW),
)


def parse_group(group: str) -> tuple[str, Right] | None:
    """Read a tenant's group, from the right: a namespace may itself end in "-admin". None when it is no such group."""
    for suffix, right in _LEVELS:
        if group.endswith(suffix) and len(group) > len(suffix):
            return group.removesuffix(suffix), right
    return None


@dataclass(frozen=True, kw_only=True)
class Access:
    """One person's view of the portal. ``rights`` names every tenant the person may look at, sub-tenants included."""

    username: str
    groups: tuple[str, ...] = ()
    is_hoster: bool = False
    rights: Mapping[str, Right] = field(default_factory=dict)

    def right_in(self, namespace: str) -> Right | None:
        if self.is_hoster:
            return Right.ADMIN
        return self.rights.get(namespace)

    def can_view(self, namespace: str) -> bool:
        return self.right_in(namespace) is not None

    def can_order(self, namespace: str) -> bool:
        """Say whether the person may order and release here."""
        return (self.right_in(namespace) or 0) >= Right.USE

    def tenants(self) -> list[str]:
        """The tenants this person may look at, by name."""
        if self.is_hoster:
            return list(tree().tenants)
        return sorted(self.rights)


def access_from(username: str, groups: Iterable[str]) -> Access:
    """Work out what the groups allow. Rights reach down to sub-tenants, never up."""
    groups = tuple(sorted(set(groups)))
    if settings.HOSTER_GROUP in groups:
        return Access(username=username, groups=groups, is_hoster=True)
    rights: dict[str, Right] = {}
    for group in groups:
        if parsed := parse_group(group):
            namespace, right = parsed
            rights[namespace] = max(right, rights.get(namespace, right))
    if rights:
        _reach_down(rights)
    return Access(username=username, groups=groups, rights=rights)


def _reach_down(rights: dict[str, Right]) -> None:
    below = tree().below
    for above, right in tuple(rights.items()):
        for name in below.get(above, ()):
            rights[name] = max(right, rights.get(name, right))


NOBODY: Final = Access(username="")


def access_of(user: User | AnonymousUser) -> Access:
    """Give what this user may do; a user who is not signed in may do nothing."""
    if not user.is_authenticated:
        return NOBODY
    return access_from(user.get_username(), user.group_names)


def signed_in(view: Callable[Concatenate[PortalRequest, P], R]) -> Callable[Concatenate[HttpRequest, P], R]:
    """For pages of everyone who is signed in (the middleware sees to that): set ``request.access``."""

    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> R:
        return view(with_access(request), *args, **kwargs)

    return wrapped


def hoster_required(
    view: Callable[Concatenate[PortalRequest, P], R],
) -> Callable[Concatenate[HttpRequest, P], R]:
    """For pages of the hoster: to everybody else they do not exist."""

    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> R:
        granted = with_access(request)
        if not granted.access.is_hoster:
            raise Http404("no such page")
        return view(granted, *args, **kwargs)

    return wrapped


def tenant_required(
    right: Right,
) -> Callable[
    [Callable[Concatenate[PortalRequest, str, P], R]], Callable[Concatenate[HttpRequest, str, P], R]
]:
    """For pages of one tenant, whose namespace is the argument ``ns``: 404 for strangers, 403 without the right."""

    def decorate(view: Callable[Concatenate[PortalRequest, str, P], R]) -> Callable[..., R]:
        @wraps(view)
        def wrapped(request: HttpRequest, ns: str, *args: P.args, **kwargs: P.kwargs) -> R:
            granted = with_access(request)
            check_tenant(granted.access, ns, right)
            return view(granted, ns, *args, **kwargs)

        return wrapped

    return decorate


def check_tenant(access: Access, namespace: str, right: Right) -> None:
    """Raise Http404 when the tenant is not to be seen (or is no namespace at all), PermissionDenied without the right."""
    held = access.right_in(namespace)
    if held is None or (access.is_hoster and namespace not in tree().above):
        raise Http404("no such tenant")
    if held < right:
        raise PermissionDenied(f"needs the right to {right.name.lower()} in {namespace}")


def with_access(request: HttpRequest) -> PortalRequest:
    """Set ``request.access``, once a request."""
    granted = cast("PortalRequest", request)
    if not hasattr(request, "access"):
        granted.access = access_of(granted.user)
    return granted
