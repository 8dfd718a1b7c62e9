"""The reference operator: a small, correct operator for DynamoGraphDeployments.

It runs as ``python -m reference`` with the folder above this one on ``PYTHONPATH``, or in a pod
(Dockerfile, manifests/). It needs urllib3, and PyYAML for a kubeconfig. Nothing here knows the
conformance suite, which treats it as any other program that talks to the Kubernetes API.

It builds component objects, and for each of them one Service and one workload: a Deployment (with
``--single-node-kind`` a StatefulSet), or a LeaderWorkerSet with a gang object for each group. It
leaves out restarts (refused), ingress, volume claims, autoscaling, scaling adapters, debug and model
Services, and Grove. One LeaderWorkerSet has all groups, and a pod template cannot name the gang
object of its own group, so the scheduler makes no use of gang objects.
"""
