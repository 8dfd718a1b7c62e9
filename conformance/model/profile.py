"""The profile of an operator: what it is, how it is started, what it promises. One YAML file.

Whatever differs between builds of operators is a field here, and no branch in the code.
"""

from __future__ import annotations

import fnmatch
from typing import Annotated

from pydantic import AfterValidator, Field, model_validator

from conformance.model.children import LabelNames, Multinode, SingleNode
from conformance.model.errors import UsageError
from conformance.model.exemptions import (
    FidelityException,
    KnownFailure,
    Mask,
    Overlap,
    RefusalWord,
    Retained,
    Rollout,
    ServiceClass,
    ServiceRule,
    StatusNames,
)
from conformance.model.features import Feature, Without
from conformance.model.field_types import Strict, Url
from conformance.model.graph import ApiVersion
from conformance.model.installs import ClusterInstall, ProcessInstall
from conformance.model.promises import Promises

OTHER_USERS = frozenset({"dgd-conformance", "lws-controller-manager", "kwok"})
"""User names of the suite and of what runs beside the operator: an operator under one of them could
not be told from it."""

_ACCOUNT = "system:serviceaccount:"


class Identity(Strict):
    """Who is under test, for the report."""

    name: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$", max_length=40)]
    title: str = ""
    organization: str = ""
    url: Url = ""
    version: str = ""


def _own_user(name: str) -> str:
    if name in OTHER_USERS or (name.startswith("system:") and not name.startswith(_ACCOUNT)):
        raise ValueError("is the name of another; expected a user name of the operator's own")
    return name


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
    without: list[Without] = []
    """Features that are not in `features`, with the reason why the operator cannot have them."""
    install: ProcessInstall | None = None
    """As a process beside the embedded control plane (`--cluster=embedded`)."""
    in_cluster: ClusterInstall | None = None
    """As it ships, in pods (`--cluster=kind`, `--cluster=kubeconfig`)."""
    faults: list[str] = []
    """Names that `fault_argument` understands, for operators that can be broken on purpose."""
    fault_table: str = ""
    """A TOML file, relative to the profile, whose entries `[NAME.FAULT]` under this profile's name
    are faults, too."""
    identity_user: Annotated[str, AfterValidator(_own_user)] = "dgd-operator"
    """User name under which the operator writes, as in the audit log."""
    single_node: SingleNode = SingleNode()
    multinode: Multinode = Multinode()
    promises: Promises = Promises()
    overlap: Overlap = Overlap()
    rollouts: list[Rollout] = []
    labels: LabelNames = LabelNames()
    services: list[ServiceRule] = [ServiceRule(use=ServiceClass.COMPONENT, name="{component}")]
    status: StatusNames = StatusNames()
    retained: list[Retained] = []
    masks: list[Mask] = []
    fidelity_exceptions: list[FidelityException] = []
    refusal_words: list[RefusalWord] = []
    """Regular expressions that a refusal may match instead of naming the field or service."""
    graph_annotations: dict[str, str] = {}
    """Put on each graph of the suite, such as nvidia.com/enable-grove: "false"."""
    availability_on_toggle: bool = False
    """True: a change of multinode must not leave the service without a ready pod either."""
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
        versions = {str(feature) for feature in self.features if feature.version}
        if not versions <= declared:
            missing = ", ".join(sorted(versions - declared))
            raise ValueError(f"features name API versions that `versions` does not list: {missing}")
        both = [entry.feature for entry in self.without if entry.feature in self.features]
        if both:
            raise ValueError(
                f"`without` names {both[0]}, which `features` lists; expected one of both"
            )
        return self

    @model_validator(mode="after")
    def _gangs_are_not_kept(self) -> Profile:
        gang = self.multinode.gang_kind
        if any(retained.kind == gang for retained in self.retained):
            raise ValueError(
                f"`retained` lists {gang}, the gang kind: whether gang objects are left over is what "
                "the suite is about"
            )
        return self

    def supports(self, feature: Feature) -> bool:
        """True if the feature is declared; API versions are declared by `versions`."""
        if feature.version:
            return str(feature) in {str(version) for version in self.versions}
        return feature in self.features

    def retains(self, kind: str, name: str) -> bool:
        """True if an object of that kind and name may outlive its graph."""
        return any(
            row.kind == kind and fnmatch.fnmatchcase(name, row.name) for row in self.retained
        )

    def excuse(self, feature: Feature) -> str:
        """Why a run without the cases that need an undeclared feature may conform; empty if it is
        partial.

        An API version and components are excused: the suite itself finds that they are not served. A
        bare component is excused with a reason. Changes of topology (`multinode`) and restarts are
        never excused: they are what the suite is for, and any process and pod can be restarted.
        """
        if feature.probed:
            return "the API does not have it"
        return next((entry.reason for entry in self.without if entry.feature is feature), "")
