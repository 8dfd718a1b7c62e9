"""A kubeconfig's context, read: server, proxy, authority, identity. Nothing is sent."""

from __future__ import annotations

import functools
import ssl
import tempfile
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from kubernetes.client.configuration import Configuration
from kubernetes.config.config_exception import ConfigException
from kubernetes.config.kube_config import KubeConfigLoader

from conformance.kube import proxy
from conformance.kube.credentials import Credential, Credentials, Plugin, read_token
from conformance.kube.proxy import Proxy
from conformance.model.errors import UsageError

YAML_LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""The fast one, where libyaml is there."""
_loading = threading.Lock()
# Of the wrong shape, the client's code fails in any of the last four ways.
_UNREADABLE = (
    ConfigException, yaml.YAMLError, OSError, ValueError, KeyError, TypeError, AttributeError,
)  # fmt: skip


@dataclass(slots=True, kw_only=True)
class Connection:
    """How one server is reached with one identity."""

    configuration: Configuration
    tls: ssl.SSLContext | None = None
    """Shared by all connections; None for a plain server."""
    authority: str = ""
    """PEM of what the server must be signed by; empty: the machine's own authorities."""
    proxy: Proxy | None = None
    credentials: Credentials | None = None
    """Those that change; static ones are in the configuration and the TLS context."""
    pair: str = ""
    """The plugin's client certificate in use, with its key."""
    impersonation: tuple[tuple[str, str], ...] = ()
    """Headers."""

    @classmethod
    def read(cls, path: Path, context: str | None) -> Connection:
        """Raises UsageError, see `Transport.from_kubeconfig`."""
        if not path.is_file():
            raise UsageError(f"the kubeconfig {path} does not exist; expected a readable file")
        # The client writes inline keys to temporary files and removes them only at a normal exit.
        # They are needed for one instant: read them into the TLS context, and leave nothing behind.
        with _loading, tempfile.TemporaryDirectory(prefix="dgd-conformance-") as directory:
            try:
                return _read(path, context, directory)
            except _UNREADABLE as error:
                raise UsageError(f"the kubeconfig {path} cannot be used: {error}") from error

    def secure(self, credential: Credential) -> ssl.SSLContext:
        """The TLS context for new connections, with the certificate that a plugin gave."""
        verify = bool(self.configuration.verify_ssl)
        self.tls = shared_context(self.authority, verify=verify)
        if credential.pair:
            # Readable by its owner alone.
            with tempfile.NamedTemporaryFile("w", prefix="dgd-conformance-") as file:
                file.write(credential.pair)
                file.flush()
                self.tls.load_cert_chain(file.name)
        self.pair = credential.pair
        return self.tls


def _read(path: Path, context: str | None, directory: str) -> Connection:
    content = yaml.load(path.read_bytes(), Loader=YAML_LOADER)
    if not isinstance(content, dict):
        raise ValueError("expected a YAML mapping with clusters, contexts and users")
    name = context or content.get("current-context")
    if not name:
        raise ValueError("it has no current context; name one")
    chosen = _named(content, "contexts", str(name))
    cluster = _named(content, "clusters", str(chosen.get("cluster", "")))
    user = _named(content, "users", str(chosen["user"])) if chosen.get("user") else {}
    # Ours to fetch: the client would hide why it failed.
    static = {key: value for key, value in user.items() if key not in ("exec", "tokenFile")}
    content = {**content, "users": [{"name": chosen.get("user"), "user": static}]}
    folder = path.absolute().parent
    configuration = Configuration()
    loader: Any = KubeConfigLoader  # untyped, as is all of the client's configuration
    loader(
        content, active_context=str(name), config_base_path=str(folder), temp_file_path=directory
    ).load_and_set(configuration)
    server = str(configuration.host)
    way = proxy.choose(server, cluster.get("proxy-url"))
    # The client's own choice would use the environment's proxy for this machine, too.
    configuration.proxy, configuration.no_proxy = (way.url if way is not None else None), ""
    authority = configuration.ssl_ca_cert
    made = Connection(
        configuration=configuration,
        authority=Path(authority).read_text("utf-8") if authority else "",
        proxy=way,
        credentials=_credentials(user, cluster, folder),
        impersonation=tuple(_impersonation(user)),
    )
    if server.startswith("https"):
        tls = made.secure(made.credentials.present if made.credentials else Credential())
        if configuration.cert_file:
            tls.load_cert_chain(configuration.cert_file, configuration.key_file)
    configuration.cert_file = configuration.key_file = configuration.ssl_ca_cert = None
    return made


def _named(content: Mapping[str, Any], part: str, name: str) -> dict[str, Any]:
    """The entry of that name. Raises ValueError with the names that there are."""
    rows = [row for row in content.get(part) or () if isinstance(row, Mapping)]
    for row in rows:
        if row.get("name") == name:
            return dict(row.get(part.removesuffix("s")) or {})
    known = ", ".join(str(row.get("name")) for row in rows) or "none"
    raise ValueError(f"its {part} lack {name!r} (there: {known})")


def _credentials(
    user: Mapping[str, Any], cluster: Mapping[str, Any], folder: Path
) -> Credentials | None:
    if user.get("tokenFile"):
        file = folder / Path(str(user["tokenFile"])).expanduser()
        return Credentials(functools.partial(read_token, file))
    if user.get("exec") and not user.get("token"):
        return Credentials(Plugin(user["exec"], folder=folder, cluster=cluster).fetch)
    return None


def _impersonation(user: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Source: Kubernetes, "Authenticating", user impersonation."""
    given = {"User": [user.get("as")], "Uid": [user.get("as-uid")], "Group": user.get("as-groups")}
    for key, values in (user.get("as-user-extra") or {}).items():
        given[f"Extra-{key}"] = values
    for key, values in given.items():
        yield from ((f"Impersonate-{key}", str(value)) for value in values or () if value)


class _Shared(ssl.SSLContext):
    """A context that is complete, and that threads share.

    urllib3 sets the protocols once more for each new connection. OpenSSL then frees the old list while
    another thread copies it without Python's lock, and the API server answers that thread's hello with
    the alert `decode error`: seen once in forty loaded runs.
    """

    def set_alpn_protocols(self, alpn_protocols: Iterable[str]) -> None:
        """Nothing: they are set."""


def shared_context(authority: str, *, verify: bool) -> ssl.SSLContext:
    """A context for HTTP/1.1, to which a client certificate may be added before it is used.
    `authority`: PEM of what the server must be signed by; empty: the machine's own authorities."""
    context = _Shared(ssl.PROTOCOL_TLS_CLIENT)
    ssl.SSLContext.set_alpn_protocols(context, ["http/1.1"])
    if authority:
        context.load_verify_locations(cadata=authority)
    else:
        context.load_default_certs()
    # Kubernetes' own certificates may lack what OpenSSL's strict mode asks for, should it be on.
    context.verify_flags &= ~ssl.VERIFY_X509_STRICT
    if not verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context
