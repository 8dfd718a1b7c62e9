"""Fresh graphs, in each API version."""

from conformance.suite import (
    ApiVersion,
    Door,
    Expect,
    Feature,
    Method,
    Trial,
    case,
    every_version,
    graphs,
)  # fmt: skip


def _create(version: ApiVersion) -> Door:
    return Door(method=Method.REPLACE, version=version)


@case(feature="deploy")
@every_version()
def test_agg_is_deployments(trial: Trial, version: ApiVersion) -> None:
    """The aggregated graph becomes one Deployment a service, is Ready, and rests."""
    trial.deploy(graphs.agg(), door=_create(version), judged=True)
    trial.expect(Expect.RECONCILE)


@case(feature="deploy", needs=[Feature.MULTINODE])
@every_version()
def test_agg_multinode_is_an_lws(trial: Trial, version: ApiVersion) -> None:
    """A multinode worker becomes LeaderWorkerSets of its node count, and the frontend a Deployment."""
    trial.deploy(graphs.agg_multinode(), door=_create(version), judged=True)
    trial.expect(Expect.RECONCILE)


@case(feature="deploy")
@every_version()
def test_disagg_is_three_deployments(trial: Trial, version: ApiVersion) -> None:
    """Prefill and decode workers of one graph become Deployments of their own, and both are Ready."""
    trial.deploy(graphs.disagg(), door=_create(version), judged=True)
    trial.expect(Expect.RECONCILE)


@case(feature="deploy")
def test_replicas_left_out_means_one(trial: Trial) -> None:
    """A service without `replicas` gets one pod, and its status says so."""
    graph = graphs.agg()
    worker = graph.service("VllmDecodeWorker").replace(replicas=None)
    trial.deploy(graph.with_service(worker), judged=True)
    trial.expect(Expect.RECONCILE)
