"""Where the API server is, how it is trusted, who we are to it, and which way the traffic goes.

The client library's loaders read kubeconfigs (contexts, merged files, exec plugins, OIDC) and service accounts; what they find is
kept here as plain values. Certificates are read at once: the loader's temporary files would not survive a fork.
"""

from __future__ import annotations

import ipaddress
import os
import ssl
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit
from urllib.request import getproxies_environment

from kubernetes.client import Configuration
from kubernetes.client.rest import should_bypass_proxies
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.incluster_config import (
    SERVICE_CERT_FILENAME,
    SERVICE_TOKEN_FILENAME,
    InClusterConfigLoader,
)
from kubernetes.config.kube_config import KubeConfigLoader, KubeConfigMerger

from kube.credentials import Credentials, Fixed, TokenFile
from kube.errors import Misconfigured
from kube.lent import PATIENCE_SECONDS, Lent, Loaded

# The loaders ship no types; what they give is checked where it is taken over.
_merge: Final[Callable[[str], Any]] = KubeConfigMerger
_kubeconfig_loader: Final[Callable[..., Any]] = KubeConfigLoader
_service_account_loader: Final[Callable[..., Any]] = InClusterConfigLoader


@dataclass(frozen=True)
class ClusterConfig:
    """How to reach one cluster. ``ca`` is PEM text; without it the system's authorities are trusted."""

    server: str
    ca: str | None = field(default=None, repr=False)
    is_verified: bool = True
    tls_server_name: str | None = None
    certificate_file: str | None = None
    key_file: str | None = None
    credentials: Credentials = field(default_factory=Fixed)
    proxy: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if not _is_address(self.server):
            raise Misconfigured(f"{self.server!r} is no address of a server")
        if self.proxy is not None and urlsplit(self.server).scheme != "https":
            raise Misconfigured(
                "a server without TLS is never reached through a proxy: it would read the tokens"
            )
        if self.proxy is not None and not _is_address(self.proxy):
            raise Misconfigured("only an http or https proxy can be used")

    @property
    def route(self) -> str:
        """Say which way requests go, for the log at start. Never shows the proxy's password."""
        trust = "" if self.is_verified else ", without verifying its certificate"
        if self.proxy is None:
            return f"{self.server} directly{trust}"
        parts = urlsplit(self.proxy)
        port = f":{parts.port}" if parts.port else ""
        return f"{self.server} through the proxy {parts.scheme}://{parts.hostname or ''}{port}{trust}"

    @cached_property
    def tls(self) -> ssl.SSLContext:
        """TLS with this process's client certificate, where there is one."""
        context = self.tls_without_certificate if self.certificate_file is None else self._trust()
        if self.certificate_file is not None:
            try:
                context.load_cert_chain(self.certificate_file, self.key_file)
            except (OSError, ssl.SSLError) as error:
                raise Misconfigured(f"the client certificate cannot be used: {error}") from error
        return context

    @cached_property
    def tls_without_certificate(self) -> ssl.SSLContext:
        """TLS for calls with a user's own token: the API server would take a certificate before the token."""
        return self._trust()

    def _trust(self) -> ssl.SSLContext:
        try:
            context = ssl.create_default_context(cadata=self.ca)
        except (ssl.SSLError, ValueError) as error:
            raise Misconfigured(f"the certificate authority cannot be read: {error}") from error
        context.verify_flags &= (
            ~ssl.VERIFY_X509_STRICT
        )  # on by default from Python 3.13; cluster CAs often lack key ids
        if not self.is_verified:
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
        return context


def load(
    kubeconfig: str | os.PathLike[str] | None = None,
    *,
    environ: Mapping[str, str] = os.environ,
    token_file: str = SERVICE_TOKEN_FILENAME,
    ca_file: str = SERVICE_CERT_FILENAME,
    patience_seconds: float = PATIENCE_SECONDS,
) -> ClusterConfig:
    """Find the cluster: the given kubeconfig, else KUBECONFIG, else the pod's service account.

    ``~/.kube/config`` is not tried: a portal must never find a cluster by accident. Raise Misconfigured. ``patience_seconds``: how
    long a call waits for a plugin that gives credentials.
    """
    paths = os.fspath(kubeconfig) if kubeconfig is not None else environ.get("KUBECONFIG", "")
    try:
        if paths:
            return _from_kubeconfig(paths, patience_seconds)
        if "KUBERNETES_SERVICE_HOST" in environ:
            return _from_service_account(environ, token_file, ca_file)
    except Misconfigured:
        raise
    except Exception as error:  # plugins and providers are asked, each with a library and errors of its own
        raise Misconfigured(f"the cluster's configuration cannot be used: {error}") from error
    raise Misconfigured("no cluster is configured: set KUBECONFIG, or run in a pod with a service account")


def proxy_for(server: str, proxies: Mapping[str, str] | None = None) -> str | None:
    """Choose the proxy that the environment (HTTPS_PROXY, NO_PROXY, ... in either case) asks for, as kubectl does.

    NO_PROXY may hold hosts, domain suffixes, addresses, CIDR blocks or "*". Loopback never goes through a proxy.
    """
    proxies = getproxies_environment() if proxies is None else proxies
    parts = urlsplit(server)
    if _is_loopback(parts.hostname or "") or should_bypass_proxies(server, proxies.get("no", "")):
        return None
    return proxies.get(parts.scheme) or proxies.get("all")


def _is_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port that is no number, a bracket that does not close
        return False


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _from_kubeconfig(paths: str, patience_seconds: float) -> ClusterConfig:
    merged = _merge(paths).config
    loader = _kubeconfig_loader(config_dict=merged, config_base_path=None)  # None: each file's own folder
    configuration = Configuration()
    configuration.host = ""
    loader.load_and_set(configuration)
    if not configuration.host:
        raise ConfigException("the current context names no server")
    named_proxy = loader.__dict__.get("proxy")  # set only by the cluster's own proxy-url
    return ClusterConfig(
        server=configuration.host,
        ca=_text_of(configuration.ssl_ca_cert),
        is_verified=configuration.verify_ssl,
        tls_server_name=configuration.tls_server_name,
        certificate_file=configuration.cert_file,
        key_file=configuration.key_file,
        credentials=_credentials_of(merged, loader, patience_seconds),
        proxy=named_proxy or proxy_for(configuration.host),
    )


def _credentials_of(merged: Any, loader: Any, patience_seconds: float) -> Credentials:
    user_name = loader.current_context["context"].get("user")
    users = merged.safe_get("users") if user_name else None
    node = merged["users"].get_with_name(user_name, safe=True) if users else None
    user: dict[str, Any] = (node.value.get("user") or {}) if node is not None else {}
    if node is not None and "tokenFile" in user:
        return TokenFile(Path(os.path.dirname(node.path or ""), user["tokenFile"]))
    if "exec" in user or "auth-provider" in user:

        def ask() -> Lent:
            # A loader of its own: the loader keeps what it had when its plugin fails, and says so in the log alone.
            asked = _kubeconfig_loader(config_dict=merged, config_base_path=None)
            asked.load_and_set(Configuration())
            if (lent := _lent_by(asked)) is None:
                raise ConfigException("neither a token nor a certificate came; the log says why")
            return lent

        return Loaded(ask, _lent_by(loader), patience_seconds=patience_seconds)
    return Fixed(loader.__dict__.get("token"))


def _lent_by(loader: Any) -> Lent | None:
    """Give what a plugin or a provider gave to the loader. A certificate in the place of a token is kept elsewhere."""
    found = loader.__dict__
    if not found.get("token") and not found.get("cert_file"):
        return None
    return Lent(found.get("token"), found.get("expiry"))


def _from_service_account(environ: Mapping[str, str], token_file: str, ca_file: str) -> ClusterConfig:
    configuration = Configuration()
    loader = _service_account_loader(token_file, ca_file, try_refresh_token=False, environ=environ)
    loader.load_and_set(configuration)
    return ClusterConfig(
        server=configuration.host,
        ca=_text_of(ca_file),
        credentials=TokenFile(Path(token_file)),
        proxy=proxy_for(configuration.host),
    )


def _text_of(path: str | None) -> str | None:
    return Path(path).read_text("utf-8") if path else None
