"""Which proxy leads to an API server: as kubectl chooses it.

A kubeconfig's `proxy-url` counts whatever the environment says. Else HTTPS_PROXY (HTTP_PROXY for a
plain server) counts, unless NO_PROXY names the server. The environment's proxy is never used for
this machine itself. Source: client-go `rest.Config.Proxy`, Go's `http.ProxyFromEnvironment`.
"""

import contextlib
import ipaddress
import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias
from urllib.parse import urlsplit

from conformance.model.errors import UsageError

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
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
    server: str, proxy_url: str | None, *, environ: Mapping[str, str] = os.environ
) -> Proxy | None:
    """The proxy for a server (a URL), None for a direct connection. Raises UsageError for one of a
    kind that cannot be used."""
    if proxy_url:
        return _checked(proxy_url, "proxy-url in the kubeconfig")
    scheme = "https" if server.lower().startswith("https:") else "http"
    for name in (f"{scheme.upper()}_PROXY", f"{scheme}_proxy"):
        value = environ.get(name, "").strip()
        if value:
            excluded = environ.get("NO_PROXY") or environ.get("no_proxy") or ""
            return None if _bypassed(server, excluded) else _checked(value, name)
    return None


def _bypassed(server: str, no_proxy: str) -> bool:
    parts = urlsplit(server)
    host = (parts.hostname or "").lower().rstrip(".")
    port = str(parts.port or (443 if parts.scheme == "https" else 80))
    address = _address(host)
    if host == "localhost" or (address is not None and address.is_loopback):
        return True
    entries = no_proxy.lower().replace(" ", "").split(",")
    return any(_names(entry, host, port, address) for entry in entries if entry)


def _names(entry: str, host: str, port: str, address: _Address | None) -> bool:
    """True if an entry of NO_PROXY names this server."""
    if entry == "*":
        return True
    if address is not None and "/" in entry:
        with contextlib.suppress(ValueError):
            return address in ipaddress.ip_network(entry, strict=False)
        return False
    name, _, wanted = entry.rpartition(":") if entry.count(":") == 1 else (entry, "", "")
    if wanted and wanted != port:
        return False
    name = name.removeprefix("*").strip("[]")
    if address is not None:
        return _address(name) == address
    # `.x.y` names what is below x.y, `x.y` that host, too.
    return host.endswith(name if name.startswith(".") else f".{name}") or host == name


def _address(text: str) -> _Address | None:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(text)
    return None


def _checked(url: str, source: str) -> Proxy:
    # A variable may name host and port alone.
    whole = url if "://" in url else f"http://{url}"
    with contextlib.suppress(ValueError):
        parts = urlsplit(whole)
        if parts.hostname and parts.scheme in _SCHEMES and parts.port != 0:
            return Proxy(url=whole, source=source)
    raise UsageError(
        f"{source} is {url!r}, expected a URL of a proxy such as http://proxy.example:3128"
    )
