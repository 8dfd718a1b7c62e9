"""What the user says of a cluster of their own, and the context of their kubeconfig that leads there.

Source of the rules: kubectl, "Organizing Cluster Access Using kubeconfig Files": files of KUBECONFIG
are merged, the first to name something wins, relative paths count from the file that holds them."""

import copy
import difflib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from conformance.cluster.certificates import write_private
from conformance.kube import YAML_LOADER
from conformance.model.errors import UsageError

CONTEXT_OPTION = "--kube-context"
DEFAULT = "~/.kube/config"
_PATHS = ("certificate-authority", "client-certificate", "client-key", "tokenFile")


@dataclass(frozen=True, slots=True, kw_only=True)
class KubeconfigOptions:
    """The options of `--cluster=kubeconfig`."""

    kubeconfig: Path | None = None
    """None: the files of KUBECONFIG, else ~/.kube/config."""
    context: str | None = None
    """`--kube-context`. The current context is never used by itself."""
    i_own: bool = False
    """`--i-own-this-cluster`."""
    install_operator: bool = False
    """`--install-operator`: cluster-scoped objects (CRDs, ClusterRoles, webhooks) may be made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One context with its cluster and user, all paths absolute. `user_name` is as in the file."""

    name: str
    cluster: Mapping[str, Any]
    user: Mapping[str, Any]
    user_name: str
    namespace: str
    """Its default namespace, which the suite does not use."""

    @property
    def server(self) -> str:
        """URL of the API server."""
        return str(self.cluster["server"])

    @property
    def cleanup(self) -> str:
        """The command that removes what crashed runs left."""
        return f"python -m conformance cleanup {CONTEXT_OPTION}={self.name}"

    def write(self, path: Path) -> Path:
        """Write a kubeconfig (mode 0600) with nothing but this context, without its namespace."""
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": self.name,
            "clusters": [{"name": "cluster", "cluster": dict(self.cluster)}],
            "users": [{"name": "user", "user": dict(self.user)}],
            "contexts": [{"name": self.name, "context": {"cluster": "cluster", "user": "user"}}],
        }
        return write_private(path, json.dumps(content).encode())


def files(given: Path | None, environ: Mapping[str, str] = os.environ) -> list[Path]:
    """The given one, else those of KUBECONFIG, else the default one. Raises UsageError without one."""
    variable = environ.get("KUBECONFIG")
    if given is not None:
        named, source = [str(given)], f"--kubeconfig={given}"
    elif variable:
        named, source = variable.split(os.pathsep), f"KUBECONFIG={variable}"
    else:
        named, source = [DEFAULT], f"the default kubeconfig {DEFAULT}"
    paths = [Path(name).expanduser().absolute() for name in named if name]
    found = [path for path in paths if path.is_file()]
    if not found:
        raise UsageError(f"{source} does not exist; give --kubeconfig=PATH or set KUBECONFIG")
    return found


def read(paths: Sequence[Path], name: str | None) -> Context:
    """The context of that name. Raises UsageError if none is named, or it is not there or not whole."""
    contexts = _merged(paths, "contexts")
    listed = ", ".join(contexts) or "none"
    where = ", ".join(str(path) for path in paths)
    if not name:
        raise UsageError(
            f"{CONTEXT_OPTION} names no context; name the cluster to use with {CONTEXT_OPTION}=NAME "
            f"(in {where}: {listed}): the current context is never used by itself"
        )
    if name not in contexts:
        close = difflib.get_close_matches(name, contexts, n=3, cutoff=0.5)
        hint = f"; did you mean {' or '.join(close)}?" if close else ""
        raise UsageError(f"{CONTEXT_OPTION}={name} is not in {where}{hint} (there: {listed})")
    context = contexts[name][0]
    cluster_name, user_name = str(context.get("cluster", "")), str(context.get("user", ""))
    clusters, users = _merged(paths, "clusters"), _merged(paths, "users")
    if cluster_name not in clusters:
        raise UsageError(f"context {name} names the cluster {cluster_name!r}, not in {where}")
    if user_name and user_name not in users:
        raise UsageError(f"context {name} names the user {user_name!r}, not in {where}")
    cluster, file = clusters[cluster_name]
    if not cluster.get("server"):
        raise UsageError(f"the cluster {cluster_name} in {file} has no `server`")
    return Context(
        name=name,
        cluster=_absolute(cluster, file),
        user=_absolute(*users.get(user_name, ({}, file))),
        user_name=user_name,
        namespace=str(context.get("namespace") or ""),
    )


def _absolute(entry: Mapping[str, Any], file: Path) -> dict[str, Any]:
    made = copy.deepcopy(dict(entry))
    for key in _PATHS:
        if made.get(key):
            made[key] = str(file.parent / Path(str(made[key])).expanduser())
    plugin = made.get("exec")
    # A bare name is looked for on PATH, anything else counts from the file.
    if isinstance(plugin, dict) and "/" in str(plugin.get("command", "")):
        plugin["command"] = str(file.parent / Path(str(plugin["command"])).expanduser())
    return made


def _merged(paths: Sequence[Path], part: str) -> dict[str, tuple[dict[str, Any], Path]]:
    """Name → (entry, its file)."""
    found: dict[str, tuple[dict[str, Any], Path]] = {}
    for path in paths:
        try:
            content = yaml.load(path.read_bytes(), Loader=YAML_LOADER) or {}
            if not isinstance(content, dict):
                raise UsageError(f"{path} is no kubeconfig; expected YAML with `contexts`")
            for row in content.get(part) or ():
                entry = row.get(part.removesuffix("s")) or {}
                found.setdefault(str(row["name"]), (dict(entry), path))
        except (OSError, yaml.YAMLError, AttributeError, KeyError, TypeError, ValueError) as error:
            problem = str(error).replace("\n", " ")
            raise UsageError(f"the kubeconfig {path} cannot be read: {problem}") from error
    return found
