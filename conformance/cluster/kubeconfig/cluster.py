"""`--cluster=kubeconfig`: the user's own cluster, used with care: `KubeconfigCluster`."""

import contextlib
import shutil
import subprocess
import time
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple, Self

from conformance.cluster.kubeconfig import connectivity, contexts, leftovers, removal
from conformance.cluster.kubeconfig.contexts import KubeconfigOptions
from conformance.cluster.kubeconfig.inspection import Inspection, inspect
from conformance.cluster.kubeconfig.run_lease import RunLease, namespace_of
from conformance.cluster.nodes import RealNodes
from conformance.cluster.processes import directory as directories
from conformance.cluster.processes.supervisor import Supervisor
from conformance.cluster.protocol import Cluster
from conformance.kube import FIELD_MANAGER, Api
from conformance.model.errors import InfraError, UsageError
from conformance.model.kinds import Actor
from conformance.model.profile import Profile

END_SECONDS = 60.0
"""For namespaces at the end of a run."""
LOAD_SECONDS = 300.0
"""For an image of a gigabyte."""
COLLECTOR_SECONDS = 35.0
"""kube-controller-manager's garbage collector looks for new kinds every 30 s, and needs a few more
to list them. Source: kubernetes/kubernetes, garbagecollector `Sync` period."""


class _Checked(NamedTuple):
    kubeconfig: Path
    api: Api
    inspection: Inspection


class KubeconfigCluster(Cluster):
    """A cluster that was there before the run and stays after it. All parts of the suite use a private
    copy of the one context, which goes with this process however it ends."""

    def __init__(
        self,
        options: KubeconfigOptions,
        *,
        profile: Profile | None = None,
        tell: Callable[[str], None] = lambda _: None,
    ) -> None:
        """`profile`: of the operator, for the rights that its cases need; None: that any would need.
        `tell` hears what could not be removed at the end."""
        self.run = uuid.uuid4().hex[:8]
        self._options = options
        self._profile = profile
        self._tell = tell
        self._closing = contextlib.ExitStack()
        self._found: _Checked | None = None
        self._lease: RunLease | None = None

    # What every cluster answers; see `protocol.Cluster`.

    run = ""
    audit_log = None
    throw_away = False
    process_host = None
    users: Mapping[str, Actor] = {
        FIELD_MANAGER: Actor.SUITE,
        "lws": Actor.LWS_CONTROLLER,
        "lws-controller-manager": Actor.LWS_CONTROLLER,
    }

    @property
    def kubeconfig(self) -> Path:
        return self._checked.kubeconfig

    @property
    def versions(self) -> Mapping[str, str]:
        return self._checked.inspection.versions

    @property
    def operator_installed(self) -> bool:
        return not self._options.install_operator

    @property
    def real_nodes(self) -> RealNodes | None:
        """Marked only in a kind cluster that this suite made and kept."""
        return RealNodes() if self._checked.inspection.has_real_nodes else None

    def failure(self) -> str | None:
        """Says that the run can no longer show that it is alive."""
        return self._lease.failure() if self._lease is not None else None

    def check(self) -> None:
        """Make sure that the cluster may be used; see `inspect`. Raises UsageError within seconds."""
        if self._found is not None:
            return
        files = contexts.files(self._options.kubeconfig)
        context = contexts.read(files, self._options.context)
        connectivity.check_identity(context)
        directories.sweep()
        with contextlib.ExitStack() as closing:
            # The reaper before the file with the identity: it goes with this process.
            supervisor = closing.enter_context(Supervisor(prefix=directories.prefix()))
            private = context.write(supervisor.directory / "kubeconfig")
            try:
                api = closing.enter_context(Api.from_kubeconfig(private))
                inspection = inspect(api, context, self._options, self._profile)
            except UsageError as error:
                # Nobody knows of the private copy.
                where = f"{' and '.join(str(file) for file in files)} (context {context.name})"
                raise UsageError(str(error).replace(str(private), where)) from error
            self._found = _Checked(private, api, inspection)
            self._closing = closing.pop_all()

    def plan(self) -> list[str]:
        """What the run will make, and what it needs, a line each."""
        self.check()
        return self._checked.inspection.plan(self.run)

    def start(self) -> Self:
        """Check, and make the run's own namespace."""
        self.check()
        if self._lease is not None:
            raise InfraError("this run has already begun")
        try:
            self._checked.inspection.require_lws(self._profile)
            self._lease = RunLease(self._checked.api, self.run)
            self._lease.start()
        except BaseException:
            self.stop()
            raise
        return self

    def load_image(self, image: str) -> None:
        """By kind, if it is a kind cluster: the nodes of all others pull from a registry."""
        context = self._checked.inspection.context.name
        name, program = context.removeprefix("kind-"), shutil.which("kind")
        if name == context or program is None:
            why = "it is no kind cluster" if name == context else "kind is not on PATH"
            raise UsageError(
                f"the image {image} cannot be loaded into context {context} ({why}): push it to a "
                "registry that the cluster can pull from, and name it there"
            )
        command = [program, "load", "docker-image", image, "--name", name]
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=LOAD_SECONDS, check=False
            )
        except subprocess.TimeoutExpired:
            raise InfraError(
                f"kind did not load {image} into cluster {name} within {LOAD_SECONDS:g} s"
            ) from None
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no reason"]
            raise UsageError(f"kind could not load {image} into cluster {name}: {said[-1]}")

    def kinds_changed(self) -> None:
        """If kinds are new, wait until the garbage collector has found them: nobody may restart it."""
        kinds, now = self._checked.inspection.kinds, self._checked.api.discover()
        known = {(kind.group, kind.plural) for kind in kinds}
        if any((kind.group, kind.plural) not in known for kind in now):
            time.sleep(COLLECTOR_SECONDS)
        kinds[:] = now

    def export_evidence(self, directory: Path) -> None:
        """Nothing: all that explains a failure stays in the cluster."""

    def clear(self) -> None:
        """Remove the namespaces of cases."""
        if self._lease is not None:
            self._remove(to_the_end=False)

    def stop(self) -> None:
        """Remove all that the run made. What does not go away is told, and `cleanup` finds it later."""
        lease, self._lease = self._lease, None
        if lease is not None:
            # As long as it removes, the run lives.
            self._remove(to_the_end=True)
            lease.stop()
        self._found = None
        self._closing.close()

    def _remove(self, *, to_the_end: bool) -> None:
        """`to_the_end` False leaves the run's own namespace and what is cluster-scoped."""
        api, lease = self._checked.api, namespace_of(self.run)
        try:
            rows = leftovers.find(api, run=self.run)
            if not to_the_end:
                rows = [row for row in rows if row.is_namespace and row.name != lease]
            stuck = removal.remove(api, rows, namespaces_within=END_SECONDS).stuck
        except InfraError as error:
            stuck = [f"what run {self.run} made may still be there: {error}"]
        for sentence in stuck:
            self._tell(sentence)

    @property
    def _checked(self) -> _Checked:
        if self._found is None:
            raise InfraError("the cluster was not checked yet, or is closed")
        return self._found
