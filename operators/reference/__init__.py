"""The suite's own yardstick: a small, correct operator for DynamoGraphDeployments.

It runs as ``python -m reference`` with the folder above this one on ``PYTHONPATH``, or in a pod
(Dockerfile, manifests/), and needs urllib3, and PyYAML for a kubeconfig. Nothing here knows the
conformance suite: to the suite this is one more program that talks to the Kubernetes API.

What it builds: component objects; for each a Deployment (or, if told so, a StatefulSet), or one
LeaderWorkerSet with a gang object a group; one Service. What it leaves out: restarts (refused),
ingress, volume claims, autoscaling, scaling adapters, debug and model Services, Grove. Gang objects
are kept and counted, but with one LeaderWorkerSet for all groups no pod template can name its own,
so nothing is scheduled by them.
"""
