"""`--cluster=kubeconfig`: the user's own cluster, used with care: `KubeconfigCluster`."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from conformance.cluster import directory as directories
from conformance.cluster.kubeconfig import (
    cleanup,
    contexts,
    ended,
    images,
    ownership,
    reach,
    rights,
    sight,
)
from conformance.cluster.kubeconfig.contexts import Context
from conformance.cluster.kubeconfig.life import Life, anchor
from conformance.cluster.kubeconfig.options import CONTEXT_OPTION, KubeconfigOptions
from conformance.cluster.kubeconfig.rights import Right
from conformance.cluster.nodes import RealNodes
from conformance.cluster.supervise import Supervisor
from conformance.kube import FIELD_MANAGER, Api, Resource
from conformance.model import labels
from conformance.model.errors import InfraError, UsageError
from conformance.model.kinds import LWS, LWS_GROUP, Actor
from conformance.model.profile import Feature, Profile

END_SECONDS = 60.0
"""For graphs, and then for namespaces, at the end of a run."""
COLLECTOR_SECONDS = 35.0
"""kube-controller-manager's garbage collector looks for new kinds every 30 s, and needs a few more
to list them. Source: kubernetes/kubernetes, garbagecollector `Sync` period."""


class KubeconfigCluster:
    """A cluster that was there before the run and stays after it.

    `check()` reads only and refuses; `plan()` says what will be done; `start()` makes the run's own
    namespace. All parts of the suite use `kubeconfig`, a private copy of the one context, which goes
    with this process however it ends.
    """

    def __init__(
        self,
        options: KubeconfigOptions,
        *,
        profile: Profile | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`profile`: of the operator that cases will change, whose rights are asked for; None: all that
        any would need. `tell` hears what could not be removed at the end."""
        self.run = uuid.uuid4().hex[:8]
        """Id of the run, for `open_namespace` and for labels of what is installed."""
        self._options = options
        self._profile = profile
        self._no_restarts: list[Right] = []
        self._real_nodes = False
        self._tell = tell
        self._supervisor: Supervisor | None = None
        self._context: Context | None = None
        self._kubeconfig: Path | None = None
        self._api: Api | None = None
        self._life: Life | None = None
        self._kinds: list[Resource] = []
        self._unseen: list[Resource] = []
        self._versions: dict[str, str] = {}
        self._reason = ""
        self._crashed: list[cleanup.Leftover] = []

    # What others use.

    @property
    def kubeconfig(self) -> Path:
        """The private kubeconfig; gone after `stop()`."""
        if self._kubeconfig is None:
            raise InfraError("the cluster was not checked yet, or is closed")
        return self._kubeconfig

    @property
    def audit_log(self) -> None:
        """Nobody can read it: who wrote what is told from managedFields."""
        return

    @property
    def versions(self) -> Mapping[str, str]:
        """The API server's, and those of LeaderWorkerSet and Volcano if they are installed."""
        return dict(self._versions)

    @property
    def users(self) -> Mapping[str, Actor]:
        """Field manager → layer: without an audit log these stand in for user names."""
        return {
            FIELD_MANAGER: Actor.SUITE,
            "lws": Actor.LWS_CONTROLLER,
            "lws-controller-manager": Actor.LWS_CONTROLLER,
        }

    @property
    def throw_away(self) -> bool:
        """False: what the suite makes is deleted, case by case."""
        return False

    @property
    def operator_installed(self) -> bool:
        """True without --install-operator: then no cluster-scoped object is made."""
        return not self._options.install_operator

    @property
    def process_host(self) -> None:
        """None: the operator runs in pods."""
        return

    @property
    def real_nodes(self) -> RealNodes | None:
        """Only in a kind cluster that this suite made and kept are some nodes simulated, and the real
        one is marked."""
        return RealNodes() if self._real_nodes else None

    @property
    def unseen(self) -> Sequence[Resource]:
        """Kinds that the user may not list and watch."""
        return tuple(self._unseen)

    def failure(self) -> str | None:
        """One sentence if the run can no longer show that it is alive, else None."""
        problem = self._life.problem if self._life is not None else ""
        if not problem:
            return None
        return f"the run's Lease in namespace {anchor(self.run)} cannot be renewed: {problem}"

    # Life cycle.

    def check(self) -> None:
        """Read the kubeconfig, reach the cluster, and make sure that it may be used. Reads only
        until that is known, and writes nothing after it either. May be called again.

        Raises UsageError in one sentence (or one table of rights), within seconds."""
        if self._api is not None:
            return
        options = self._options
        files = contexts.files(options.kubeconfig)
        name = contexts.require(files, options.context, option=CONTEXT_OPTION)
        context = contexts.read(files, name)
        reach.check_identity(context)
        try:
            self._check(context)
        except UsageError as error:
            private = str(self._kubeconfig)
            self._drop()
            # Of the private copy nobody knows.
            where = " and ".join(str(file) for file in files)
            raise UsageError(str(error).replace(private, f"{where} (context {name})")) from error
        except BaseException:
            self._drop()
            raise

    def plan(self) -> list[str]:
        """What the run will make, and what it needs, a line each. As `check` if that was not called."""
        self.check()
        assert self._context is not None
        lines = [
            f"cluster: {self._context.server} (context {self._context.name}): {self._reason}",
            f"makes:   namespaces labelled {labels.RUN}={self.run}, each deleted after its case; in "
            "them graphs, components and what cases place as others do; all else is the operator's",
            f"         namespace {anchor(self.run)} with a Lease that says that this run is alive",
        ]
        if self._options.install_operator:
            lines.append(
                "         with --install-operator: the operator, its CRDs, ClusterRoles and webhooks, "
                "labelled, and removed at the end; what was there before is not changed"
            )
        else:
            lines.append("         nothing else, and nothing cluster-wide but these namespaces")
        lines.append("reads:   every kind that it may list and watch, in all namespaces")
        if self._unseen:
            kinds = ", ".join(sorted(str(kind) for kind in self._unseen))
            lines.append(f"unseen:  {kinds}: nothing is concluded of these (`unknown`)")
        if self._no_restarts:
            lacks = ", ".join(f"{'/'.join(r.verbs)} {r.name}" for r in self._no_restarts)
            lines.append(
                f"lacks:   {lacks} in namespace {self._no_restarts[0].namespace}: cases that stop the "
                "operator will be `unknown`"
            )
        if self._context.namespace:
            lines.append(f"ignores: the context's default namespace {self._context.namespace}")
        if self._crashed:
            lines.append(
                f"left:    {len(self._crashed)} objects of crashed runs; remove them with "
                f"python -m conformance cleanup {CONTEXT_OPTION}={self._context.name}"
            )
        return lines

    def start(self) -> Self:
        """Check, and make the run's own namespace. Raises UsageError, InfraError; nothing is left
        behind then."""
        self.check()
        self._require_lws()
        if self._life is not None:
            raise InfraError("this run has already begun")
        assert self._api is not None
        self._life = Life(self._api, self.run)
        try:
            self._life.start()
        except BaseException:
            self.stop()
            raise
        return self

    def stop(self) -> None:
        """Remove all that the run made, and the private kubeconfig. May be called again, and before
        `start`. What does not go away is told, and found by `cleanup` later."""
        life, self._life = self._life, None
        if life is not None:
            # As long as it removes, the run lives.
            self._remove(to_the_end=True)
            life.stop()
        self._drop()

    def clear(self) -> None:
        """Remove the namespaces of cases, while the operator still runs: once it is gone, nobody
        takes the finalizers of its graphs away."""
        if self._life is not None:
            self._remove(to_the_end=False)

    def _remove(self, *, to_the_end: bool) -> None:
        assert self._api is not None
        removal = cleanup.remove_run(self._api, self.run, within=END_SECONDS, to_the_end=to_the_end)
        for sentence in removal.stuck:
            self._tell(sentence)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    def export_evidence(self, directory: Path) -> None:
        """Nothing: all that explains a failure stays in the cluster."""

    # For pods.

    def load_image(self, image: str) -> None:
        """Load an image into the nodes of a kind cluster (context kind-NAME, `kind` on PATH). Raises
        UsageError for all others: their nodes pull from a registry."""
        assert self._context is not None
        images.load(image, context=self._context.name)

    def kinds_changed(self) -> None:
        """Nothing can be restarted here: if kinds are new since the cluster was checked, wait until
        the garbage collector has found them (35 s)."""
        assert self._api is not None
        known = {(kind.group, kind.plural) for kind in self._kinds}
        now = self._api.discover()
        if any((kind.group, kind.plural) not in known for kind in now):
            time.sleep(COLLECTOR_SECONDS)
        self._kinds = now

    # Parts.

    def _require_lws(self) -> None:
        """Raises UsageError if a multinode operator would find no LeaderWorkerSet: a platform is not
        the suite's to install."""
        multinode = self._profile is not None and self._profile.supports(Feature.MULTINODE)
        if multinode and not sight.serves(self._kinds, LWS, LWS_GROUP):
            self.stop()
            raise UsageError(
                "the operator supports multinode services, which need LeaderWorkerSet, and context "
                f"{self._options.context} serves no {LWS} of {LWS_GROUP}: install it first "
                "(https://lws.sigs.k8s.io)"
            )

    def _check(self, context: Context) -> None:
        options = self._options
        # The reaper before the file with the identity: it goes with this process.
        directories.sweep()
        self._supervisor = Supervisor(prefix=directories.prefix())
        self._kubeconfig = context.write(self._supervisor.directory / "kubeconfig")
        self._context = context
        api = Api.from_kubeconfig(self._kubeconfig)
        server = reach.first_answer(api, context)
        wanted = rights.needed(self._profile, install_operator=options.install_operator)
        who = f"user {context.user_name or '(none)'} of context {context.name}"
        try:
            # Before any question that is a POST: a cluster that is not the user's sees reads alone.
            self._reason = ownership.reason(api, context, options)
            rights.require(api, wanted, who=who)
            self._no_restarts = rights.missing(api, rights.for_restarts(self._profile))
            self._kinds = api.discover()
            self._unseen = sight.unseen(api, self._kinds)
            self._versions = sight.versions(api, server, self._kinds)
            found = cleanup.find(api)
            self._crashed = [row for row in found if not row.alive]
            if self._profile is not None and self._profile.in_cluster is not None:
                pods = self._profile.in_cluster
                if len(found) == len(self._crashed):
                    # Else a run that is going on may have stopped it for an instant.
                    ended.require_running(api, pods, context=context.name)
                if options.install_operator:
                    ended.require_none_left(self._crashed, pods, context=context.name)
            self._real_nodes = sight.has_real_nodes(api)
        except InfraError as error:
            raise UsageError(f"context {context.name} cannot be used: {error}") from error
        self._api = api

    def _drop(self) -> None:
        api, self._api = self._api, None
        if api is not None:
            api.close()
        supervisor, self._supervisor = self._supervisor, None
        self._kubeconfig = None
        if supervisor is not None:
            supervisor.stop()
