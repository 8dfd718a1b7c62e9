"""How an operator gets onto a cluster: the part of a profile that says so."""

from __future__ import annotations

import enum
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field, model_validator

from conformance.model.field_types import DnsLabel, PortName, Strict, url


class Placement(enum.StrEnum):
    """Where an operator runs."""

    PROCESS = "process"
    """Beside a control plane of the suite's own."""
    PODS = "pods"
    """In the cluster, as it ships."""


class FileTemplate(Strict):
    """A file written before the process starts; `path` and `content` are templates.

    A path outside `{work_dir}` is seen by the process alone, through a mount namespace of its own
    (needs root), so that nothing is ever written beside the run's own directory.
    """

    path: str
    content: str


class _Install(Strict):
    """What both ways of installing have."""

    namespace: DnsLabel = "dgd-operator-system"
    """The operator's own namespace, made before everything else if it is not there."""
    prerequisites: list[str] = []
    """Manifest files or directories applied before the operator, relative to the profile."""
    crds: list[str] = []
    """CRD files or directories, relative to the profile, or `{crds}` for --operator-crds. May be
    empty if the manifests or the chart bring them."""
    fault_argument: str = ""
    """Argument that switches a known fault on, a template with `{fault}`; for operators that have
    any."""

    # What the user must give, or may, to complete the installation.

    @property
    def needs_crds(self) -> bool:
        return "{crds}" in self.crds

    @property
    def needs_binary(self) -> bool:
        return False

    @property
    def takes_image(self) -> bool:
        return False

    @property
    def needs_image(self) -> bool:
        return False

    @property
    def takes_chart(self) -> bool:
        return False

    @property
    def needs_chart(self) -> bool:
        return False


class ProcessInstall(_Install):
    """The operator as a process beside the control plane.

    Templates (`{name}`): kubeconfig, python, binary, profile_dir, root, work_dir, cert_dir,
    namespace, etcd_url, ca_bundle, port_<name> for each of `ports` and `fixed_ports`. A literal
    brace is doubled. The process also gets KUBECONFIG in its environment.
    """

    kind: Literal["process"] = "process"
    command: Annotated[list[str], Field(min_length=1)]
    """Program and arguments, templates. `{binary}` stands for --operator-binary, which is then
    needed."""
    env: dict[str, str] = {}
    """Environment variables beside PATH, HOME, TMPDIR and KUBECONFIG; the values are templates."""
    ports: list[PortName] = ["webhook", "health", "metrics"]
    """Names of ports that are chosen free for each run. `webhook` is where admission and conversion
    requests go."""
    fixed_ports: dict[PortName, Annotated[int, Field(ge=1, le=65535)]] = {}
    """Ports that the program does not let one choose: name → port. A second such run on the
    machine is refused."""
    cert_dir: str = "{work_dir}/certs"
    """Directory in which the process looks for tls.crt, tls.key and ca.crt. One outside
    `{work_dir}` is private to the process, as with `files`."""
    certificate_secret: str = ""
    """Name of a Secret in `namespace` that holds the same three files, for programs that want
    one."""
    files: list[FileTemplate] = []
    """Files written before the process starts."""
    webhooks: list[str] = []
    """Webhook configuration files, relative to the profile, with unmodified service references."""
    ready: Annotated[str, AfterValidator(url)] = ""
    """URL, a template, that answers 200 once the operator is ready. Empty: ready when it runs."""
    cluster_admin: bool = True
    """True: the process runs as cluster admin, and the report says so."""
    rbac: list[str] = []
    """Manifests with the operator's own RBAC, bound to the user `identity_user`; with
    `cluster_admin: false`."""

    @property
    def needs_binary(self) -> bool:
        return any("{binary}" in argument for argument in self.command)

    @model_validator(mode="after")
    def _rbac_is_used(self) -> ProcessInstall:
        if self.rbac and self.cluster_admin:
            raise ValueError(
                "rbac has no effect for a cluster admin; say `cluster_admin: false` too"
            )
        return self


class Packaging(enum.StrEnum):
    """How an operator for a cluster is shipped."""

    MANIFESTS = "manifests"
    KUSTOMIZE = "kustomize"
    HELM = "helm"


class ClusterInstall(_Install):
    """The operator as it ships: in pods of the cluster, under its own ServiceAccount and RBAC."""

    kind: Packaging = Packaging.MANIFESTS
    manifests: list[str] = []
    """`manifests`: files or directories to apply. `kustomize`: one directory with a
    kustomization. May be empty for an operator that is always installed by others."""
    chart: str = ""
    """`helm`: a chart directory or archive relative to the profile, an `oci://` reference, or
    `{chart}` for --operator-chart (which may replace any of them)."""
    chart_version: str = ""
    """Version of a chart that is not a directory or archive."""
    release: Annotated[str, Field(pattern=r"^([a-z0-9][-a-z0-9]*)?$", max_length=53)] = ""
    """`helm`: name of the release; empty: the operator's name."""
    repository: Annotated[str, AfterValidator(url)] = ""
    """Helm repository of the chart; empty for `oci://` and paths."""
    values: dict[str, Any] = {}
    """Values of the chart; strings are templates with {namespace}, {image}, {image_repository},
    {image_tag}."""
    image: str = ""
    """The operator's image as the manifests name it, replaced by --operator-image; `{image}` if that
    must be given."""
    dockerfile: str = ""
    """A Dockerfile relative to the profile from which `image` is built and loaded into a kind
    cluster when no --operator-image is given. Its context is its own folder; where that holds a
    requirements.txt, `wheels/` is added with the wheels of those packages, so that the build needs
    no network. It gets the build argument BASE: the Python image to start from."""
    deployment: str
    """Name of the operator's Deployment in `namespace`."""
    container: str = "manager"
    """Name of its container: its log is read, and fault arguments are added to it."""
    certificate_secret: str = ""
    """A Secret in `namespace` that the suite fills with tls.crt, tls.key and ca.crt for the webhook
    Services, adding `caBundle` where webhooks and conversions lack one: what cert-manager would do.
    Empty: the operator or its chart takes care of its certificates."""

    @property
    def takes_image(self) -> bool:
        return bool(self.image)

    @property
    def needs_image(self) -> bool:
        return self.image == "{image}"

    @property
    def takes_chart(self) -> bool:
        return self.kind is Packaging.HELM

    @property
    def needs_chart(self) -> bool:
        return self.chart == "{chart}"

    @property
    def chart_path(self) -> str:
        """The chart, if it is a directory or archive relative to the profile; else empty."""
        remote = self.repository or self.chart.startswith("oci://")
        return "" if remote or self.needs_chart else self.chart

    @model_validator(mode="after")
    def _has_what_its_kind_needs(self) -> ClusterInstall:
        helm_only = ("chart", "chart_version", "repository", "release", "values")
        if self.kind is Packaging.HELM:
            if not self.chart:
                raise ValueError("needs `chart`: a path, a reference, or {chart}")
            if self.manifests:
                raise ValueError("`manifests` has no effect for kind helm; expected `chart` alone")
        elif given := [name for name in helm_only if getattr(self, name)]:
            raise ValueError(f"`{given[0]}` has no effect for kind {self.kind}, only for helm")
        if self.kind is Packaging.KUSTOMIZE and len(self.manifests) > 1:
            raise ValueError("`manifests` must be one directory with a kustomization")
        if self.dockerfile and self.image in ("", "{image}"):
            raise ValueError("`dockerfile` needs `image`: the name to build under")
        return self
