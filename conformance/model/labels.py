"""Names under the suite's own domain: labels, annotations and the taint that it puts on objects."""

OWNED = "conformance.dgd.dev/owned"
"""`true` on every namespace and every cluster-scoped object that the suite made. It removes nothing
else."""

RUN = "conformance.dgd.dev/run"
"""Id of the run that made the object."""

DISPOSABLE = "conformance.dgd.dev/disposable"
"""`true` on namespace kube-system or default: the owner of the cluster allows runs of the suite."""

REAL_NODE = "conformance.dgd.dev/real-node"
"""On a node that runs containers among simulated ones: a label (`true`) and the key of its taint."""

ENDED = "conformance.dgd.dev/operator-ended"
"""Annotation of an operator's Deployment: how the suite last ended it, when (seconds since 1970), and
with how many replicas to start it, such as `stop 1796054400.000 1`. It stays until the run ends, so
that whoever watches the pods can tell a planned end from a crash."""


def of_run(run: str) -> dict[str, str]:
    """The labels of what a run makes; an empty id stands for a cluster that is thrown away."""
    return {OWNED: "true", RUN: run} if run else {OWNED: "true"}
