"""The profile of an operator: what it is, how it is started, what it promises. One YAML file.

Everything that differs between real builds is said here and nowhere in the code.
"""

from __future__ import annotations

import enum
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from conformance.model.errors import UsageError
from conformance.model.graph import ApiVersion
from conformance.model.installs import ClusterInstall, ProcessInstall
from conformance.model.parts import Expression, Strict, Url
from conformance.model.verdict import CheckerName


class Promise(enum.StrEnum):
    """What an operator says it does with a kind of change. `either`: both are right."""

    RECONCILE = "reconcile"
    REFUSE = "refuse"
    EITHER = "either"


class LwsLayout(enum.StrEnum):
    """How a multinode service's groups become workloads."""

    PER_REPLICA = "per-replica"
    """One LWS a replica, each with one group."""
    SINGLE = "single"
    """One LWS with as many groups as replicas."""


class Gang(enum.StrEnum):
    """Which gang objects the operator itself makes."""

    PER_GROUP = "per-group"
    NONE = "none"


class Feature(enum.StrEnum):
    """What a case may need of an operator. Declared in the profile, probed on the live cluster."""

    MULTINODE = "multinode"
    V1ALPHA1 = "v1alpha1"
    V1BETA1 = "v1beta1"
    COMPONENT = "component"
    """Components (DCD) are a served API that users may write."""
    BARE_COMPONENT = "bare-component"
    """A component runs without a graph. Some builds take the pods' ServiceAccount from it."""
    ADMISSION = "admission"
    """The operator has a validating webhook for graphs."""
    RESTART = "restart"
    """The suite can stop, kill and start the operator."""


class Identity(Strict):
    """Who is under test, for the report."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=40)]
    title: str = ""
    organization: str = ""
    url: Url = ""
    version: str = ""


class Multinode(Strict):
    """What a multinode service becomes."""

    kind: str = "LeaderWorkerSet"
    layout: LwsLayout = LwsLayout.SINGLE
    gang: Gang = Gang.NONE
    gang_kind: str = "PodGroup"
    gang_min_path: list[str] = ["spec", "minMember"]


class Promises(Strict):
    """Per kind of change: reconcile, refuse or either."""

    add_multinode: Promise = Promise.EITHER
    remove_multinode: Promise = Promise.EITHER
    change_node_count: Promise = Promise.EITHER
    replicas: Promise = Promise.RECONCILE
    image: Promise = Promise.RECONCILE
    service_added: Promise = Promise.EITHER
    service_removed: Promise = Promise.EITHER
    service_renamed: Promise = Promise.EITHER
    component: Promise = Promise.EITHER
    """A topology edit of a component that a graph owns: refused, or undone without a trace."""
    bare_component: Promise = Promise.EITHER
    """A topology edit of a component without a graph."""


class Overlap(Strict):
    """Whether old and new workload of one service may be there together before the deadline."""

    allowed: bool = True
    reason: str = "new before old keeps the service answering"


class Rollout(Strict):
    """A status that says a rollout is in progress, and how long it may excuse two generations."""

    path: Annotated[list[str], Field(min_length=1)]
    """Path in the graph, such as [status, rollingUpdate, phase]."""
    values: list[str]
    bound: Annotated[float, Field(gt=0)] = 60.0
    """Seconds that the rollout may last."""


class LabelNames(Strict):
    """Labels by which the operator marks its children."""

    graph: str = "nvidia.com/dynamo-graph-deployment-name"
    service: str = "nvidia.com/dynamo-component"
    namespace: str = "nvidia.com/dynamo-namespace"
    component_type: str = "nvidia.com/dynamo-component-type"
    reserved: list[str] = ["nvidia.com/", "leaderworkerset.sigs.k8s.io/"]
    """Prefixes that belong to the operator; a user's label under them is not expected on
    children."""


class ServiceClass(enum.StrEnum):
    """What a Service of the operator is for, and so which pods it must select."""

    COMPONENT = "component"
    """All ready routable pods of its own service, and no others."""
    SHARED = "shared"
    """Pods of several services or graphs; only that no foreign pod is hit is not judged."""
    DEBUG = "debug"
    """May select nothing."""


def _name_template(text: str) -> str:
    try:
        text.format(component="", graph="", service="")
    except (KeyError, IndexError, ValueError) as error:
        raise ValueError("may name {component}, {graph} and {service} only") from error
    return text


class ServiceRule(Strict):
    """How one class of Service is recognised. The first rule that matches decides.

    `name` is a template over {component}, {graph}, {service} (lower case) with `*` as wildcard;
    `labels` are pairs that the Service carries.
    """

    use: ServiceClass
    name: Annotated[str, AfterValidator(_name_template)] = ""
    labels: dict[str, str] = {}
    reason: str = ""


class Keeper(Strict):
    """An object that may outlive a graph. `name` may have `*` as wildcard."""

    kind: str
    name: str
    reason: str


class Mask(Strict):
    """A field in which a transitioned and a fresh state may differ. `path` has `*` as wildcard."""

    kind: str = "*"
    path: str
    reason: str


class FidelityException(Strict):
    """A field of the user's that the operator may change, and in which shape."""

    field: str
    shape: Literal["single", "multinode", "both"] = "both"
    reason: str


class StatusNames(Strict):
    """Where the graph's status says what."""

    ready_condition: str = "Ready"
    service_maps: list[str] = ["components", "services"]
    """Keys of status under which a map service → state may stand."""


class KnownFailure(Strict):
    """A violation that is known and reported. Anything else still fails; an unexpected pass
    errs."""

    case: str
    """Case id as printed, `*` as wildcard."""
    checker: CheckerName
    subject: str = "*"
    link: Url
    """The public issue."""
    sometimes: bool = False
    """Only for a case marked as a race."""


class Profile(Strict):
    """Everything the suite knows about one operator."""

    identity: Identity
    versions: Annotated[list[ApiVersion], Field(min_length=1)] = [ApiVersion.V1ALPHA1]
    """Served API versions; the first is the one that cases use unless they say otherwise."""
    features: list[Feature] = [
        Feature.MULTINODE,
        Feature.COMPONENT,
        Feature.BARE_COMPONENT,
        Feature.RESTART,
    ]
    install: ProcessInstall | None = None
    """As a process beside a control plane of the suite's own (`--cluster=embedded`)."""
    in_cluster: ClusterInstall | None = None
    """As it ships, in pods (`--cluster=kind`, `--cluster=kubeconfig`)."""
    faults: list[str] = []
    """Names that `fault_argument` understands, for operators that can be broken on purpose."""
    identity_user: str = "dgd-operator"
    """User name under which the operator writes, as in the audit log."""
    multinode: Multinode = Multinode()
    promises: Promises = Promises()
    overlap: Overlap = Overlap()
    rollouts: list[Rollout] = []
    labels: LabelNames = LabelNames()
    services: list[ServiceRule] = [ServiceRule(use=ServiceClass.COMPONENT, name="{component}")]
    status: StatusNames = StatusNames()
    keepers: list[Keeper] = []
    masks: list[Mask] = []
    fidelity_exceptions: list[FidelityException] = []
    refusal_words: list[Expression] = []
    """Regular expressions that a refusal may match instead of naming the field or service."""
    graph_annotations: dict[str, str] = {}
    """Put on each graph of the suite, such as nvidia.com/enable-grove: "false"."""
    availability_on_toggle: bool = False
    """True: toggles and count changes, too, must never leave the service without a ready pod."""
    known_failures: list[KnownFailure] = []

    @model_validator(mode="after")
    def _can_be_installed(self) -> Profile:
        if self.install is None and self.in_cluster is None:
            raise ValueError("needs `install` (a process), `in_cluster` (pods), or both")
        return self

    @property
    def process(self) -> ProcessInstall:
        """The installation as a process. Raises UsageError if there is none."""
        if self.install is None:
            raise UsageError(
                f"the profile of {self.identity.name} has no `install`, so it cannot run as a process: "
                "use --cluster=kind or --cluster=kubeconfig, or add `install`"
            )
        return self.install

    @property
    def pods(self) -> ClusterInstall:
        """The installation in pods. Raises UsageError if there is none."""
        if self.in_cluster is None:
            raise UsageError(
                f"the profile of {self.identity.name} has no `in_cluster`, so it cannot run in a "
                "cluster's pods: use --cluster=embedded, or add `in_cluster`"
            )
        return self.in_cluster

    @model_validator(mode="after")
    def _features_fit(self) -> Profile:
        declared = {str(version) for version in self.versions}
        versions = {str(f) for f in self.features if f in (Feature.V1ALPHA1, Feature.V1BETA1)}
        if not versions <= declared:
            missing = ", ".join(sorted(versions - declared))
            raise ValueError(f"features name API versions that `versions` does not list: {missing}")
        return self

    def supports(self, feature: Feature) -> bool:
        """True if the feature is declared; API versions are declared by `versions`."""
        if feature in (Feature.V1ALPHA1, Feature.V1BETA1):
            return str(feature) in {str(version) for version in self.versions}
        return feature in self.features
