"""Install an operator as a process, in pods, or not at all: the cluster says which."""

from pathlib import Path

from conformance.cluster.protocol import Cluster
from conformance.kube import Api
from conformance.model.bounds import Bounds
from conformance.model.installs import Placement
from conformance.operator.installed import InstalledOperator, OnEvent, OperatorEvents, WarmUp
from conformance.operator.operator_options import OperatorOptions, check_options
from conformance.operator.pods.install import Adoption, PodInstallation
from conformance.operator.process.install import ProcessInstallation
from conformance.operator.profiles import LoadedProfile


def install(
    cluster: Cluster,
    loaded: LoadedProfile,
    *,
    options: OperatorOptions | None = None,
    bounds: Bounds | None = None,
    logs: Path,
    warm_up: WarmUp | None = None,
    on_event: OnEvent | None = None,
    api: Api | None = None,
) -> InstalledOperator:
    """Install and start the operator. Returns once it is ready, agrees with its profile and is warm.

    `logs`: directory for the logs of its pods and the values of its chart. `warm_up` is called once the
    operator is ready (which was seen up to 8 s before the first reconcile). `api` stands in for the
    client made from the cluster's kubeconfig.

    In a cluster that is not thrown away, only objects that carry the suite's label are overwritten, and
    closing removes what was made. An operator that others installed is left as it is.

    Raises UsageError for what the user can mend, StartError with the reason if the operator does not
    become ready, InfraError if the API server or a program fails; nothing is left behind then.
    """
    kind: type[InstalledOperator]
    options = options or OperatorOptions()
    if cluster.process_host is not None:
        kind, options = ProcessInstallation, check_options(loaded, options)
    elif cluster.operator_installed:
        kind, options = Adoption, OperatorOptions()
    else:
        kind = PodInstallation
        options = check_options(loaded, options, placement=Placement.PODS)
    operator = kind(
        cluster=cluster,
        loaded=loaded,
        options=options,
        bounds=bounds or Bounds(),
        logs=logs,
        event_log=OperatorEvents(on_event),
        api=api or Api.from_kubeconfig(cluster.kubeconfig),
    )
    return operator.run(warm_up=warm_up)
