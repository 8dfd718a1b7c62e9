"""Which proxy leads to an API server: as kubectl chooses it.

A kubeconfig's `proxy-url` counts whatever the environment says. Else HTTPS_PROXY (HTTP_PROXY for a
plain server) counts, unless NO_PROXY names the server. The environment's proxy is never used for
this machine itself. Source: client-go `rest.Config.Proxy`, Go's `http.ProxyFromEnvironment`.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from conformance.model.errors import UsageError

_SCHEMES = ("http", "https", "socks5", "socks5h")


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxy:
    """A proxy and who named it: a variable, or `proxy-url`."""

    url: str
    source: str

    def __str__(self) -> str:
        parts = urlsplit(self.url)
        # Without user and password.
        place = parts.netloc.rpartition("@")[2]
        return f"the proxy {parts.scheme}://{place} of {self.source}"


def choose(
    server: str, proxy_url: str | None, *, environ: Mapping[str, str] | None = None
) -> Proxy | None:
    """The proxy for a server (a URL), None for a direct connection. Raises UsageError for one of a
    kind that cannot be used."""
    variables = os.environ if environ is None else environ
    if proxy_url:
        return _checked(proxy_url, "proxy-url in the kubeconfig")
    scheme = "https" if server.lower().startswith("https:") else "http"
    for name in (f"{scheme.upper()}_PROXY", f"{scheme}_proxy"):
        value = variables.get(name, "").strip()
        if value:
            excluded = variables.get("NO_PROXY") or variables.get("no_proxy") or ""
            return None if bypassed(server, excluded) else _checked(value, name)
    return None


def bypassed(server: str, no_proxy: str) -> bool:
    """True if the environment's proxy is not for this server: it is this machine, or named."""
    parts = urlsplit(server)
    host = (parts.hostname or "").lower().rstrip(".")
    port = str(parts.port or (443 if parts.scheme == "https" else 80))
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    return any(
        _names(entry, host, port, address)
        for entry in no_proxy.lower().replace(" ", "").split(",")
        if entry
    )


def _names(
    entry: str,
    host: str,
    port: str,
    address: ipaddress.IPv4Address | ipaddress.IPv6Address | None,
) -> bool:
    if entry == "*":
        return True
    if address is not None and "/" in entry:
        try:
            return address in ipaddress.ip_network(entry, strict=False)
        except ValueError:
            return False
    name, _, wanted = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if wanted and wanted != port:
        return False
    name = name.removeprefix("*").strip("[]")
    if address is not None:
        return _address(name) == address
    # `.x.y` names what is below x.y, `x.y` that host, too.
    return host.endswith(name if name.startswith(".") else f".{name}") or host == name


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(text)
    except ValueError:
        return None


def _checked(url: str, source: str) -> Proxy:
    # A variable may name host and port alone.
    whole = url if "://" in url else f"http://{url}"
    try:
        parts = urlsplit(whole)
        good = bool(parts.hostname) and parts.scheme in _SCHEMES and parts.port != 0
    except ValueError:
        good = False
    if not good:
        raise UsageError(
            f"{source} is {url!r}, expected a URL of a proxy such as http://proxy.example:3128"
        )
    return Proxy(url=whole, source=source)
