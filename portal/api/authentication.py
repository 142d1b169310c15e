"""Who calls the API: a local user by HTTP Basic, or a browser's session with its CSRF token."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.base_user import AbstractBaseUser
from rest_framework.authentication import BasicAuthentication, SessionAuthentication
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request


class LocalBasic(BasicAuthentication):
    """Name and password of a local user. Stands first, so that a call without a login is a 401 and not a 403."""

    www_authenticate_realm = "GPU Portal"

    def authenticate_credentials(
        self, userid: str, password: str, request: Request | None = None
    ) -> tuple[AbstractBaseUser, None]:
        if "\0" in userid or "\0" in password:
            raise AuthenticationFailed("Name or password is wrong.")
        # The login machinery keeps its notes on Django's own request.
        plain: Any = None if request is None else request._request
        try:
            user, _ = super().authenticate_credentials(userid, password, plain)
        except AuthenticationFailed as error:
            if getattr(plain, "axes_locked_out", False):
                raise Throttled(detail="Too many wrong passwords. Try again later.") from error
            raise AuthenticationFailed("Name or password is wrong.") from error
        return user, None


class BrowserSession(SessionAuthentication):
    """The session of the pages. Anything but a read needs the CSRF token."""
