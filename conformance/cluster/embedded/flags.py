"""The command line of each part of the embedded control plane. Pure: settings in, arguments out."""

from conformance.cluster.embedded.layout import Layout, Ports
from conformance.cluster.processes.ports import LOOPBACK


def etcd(layout: Layout, ports: Ports) -> list[str]:
    """One member, on loopback, without fsync: its data is worth nothing after the run."""
    url, peer = f"http://{LOOPBACK}:{ports.etcd}", f"http://{LOOPBACK}:{ports.etcd_peer}"
    return [
        f"--data-dir={layout.directory / 'etcd'}",
        f"--listen-client-urls={url}",
        f"--advertise-client-urls={url}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        # A member alone elects itself after this time; the default of 1 s would be a fifth of the
        # start.
        "--heartbeat-interval=20",
        "--election-timeout=100",
        "--log-level=warn",
    ]


def apiserver(layout: Layout, ports: Ports) -> list[str]:
    """As a real cluster has it; the audit log blocks, so that an answered write is in it."""
    pki = layout.pki
    return [
        f"--etcd-servers=http://{LOOPBACK}:{ports.etcd}",
        f"--bind-address={LOOPBACK}",
        f"--advertise-address={LOOPBACK}",
        f"--secure-port={ports.apiserver}",
        # Endpoints must not be loopback addresses: the reconciler could only fail, again and again.
        "--endpoint-reconciler-type=none",
        f"--tls-cert-file={pki / 'apiserver.crt'}",
        f"--tls-private-key-file={pki / 'apiserver.key'}",
        f"--client-ca-file={pki / 'ca.crt'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-signing-key-file={pki / 'service-account.key'}",
        f"--service-account-key-file={pki / 'service-account.key'}",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--audit-policy-file={layout.audit_policy}",
        f"--audit-log-path={layout.audit_log}",
        "--audit-log-mode=blocking",
        "--audit-log-format=json",
        # One file for a whole run: a rotation under the reader's eyes would look like a gap.
        "--audit-log-maxsize=0",
        "--max-requests-inflight=1600",
        "--max-mutating-requests-inflight=800",
        "--delete-collection-workers=8",
        # All clients are our own; queueing them fairly costs more than it can give on two cores.
        "--enable-priority-and-fairness=false",
        "--profiling=false",
        "--v=1",
    ]


def controller_manager(layout: Layout) -> list[str]:
    """Each controller under its own service account, so that the audit log tells them apart."""
    return [
        f"--kubeconfig={layout.kubeconfig('kube-controller-manager')}",
        "--use-service-account-credentials",
        f"--service-account-private-key-file={layout.pki / 'service-account.key'}",
        f"--root-ca-file={layout.pki / 'ca.crt'}",
        "--leader-elect=false",
        "--secure-port=0",
        "--allocate-node-cidrs=false",
        "--kube-api-qps=500",
        "--kube-api-burst=1000",
        # Endpoints are deprecated since v1.33 and a twelfth of all writes; EndpointSlices are kept.
        "--controllers=*,-endpoints-controller,-endpointslice-mirroring-controller",
        "--concurrent-namespace-syncs=20",
        "--concurrent-deployment-syncs=10",
        "--concurrent-replicaset-syncs=10",
        "--concurrent-statefulset-syncs=10",
        "--concurrent-endpoint-syncs=10",
        "--concurrent-service-endpoint-syncs=10",
        "--concurrent-serviceaccount-token-syncs=10",
        # A node is as alive as KWOK; a busy machine must not evict pods.
        "--node-monitor-grace-period=600s",
        "--node-startup-grace-period=600s",
        "--profiling=false",
        "--v=1",
    ]


def scheduler(layout: Layout) -> list[str]:
    """Two profiles, see manifests/scheduler.yaml."""
    return [f"--config={layout.scheduler_configuration}", "--secure-port=0", "--v=1"]


def lws(layout: Layout) -> list[str]:
    """The LeaderWorkerSet controller."""
    return [f"--config={layout.lws_configuration}", "--zap-log-level=info"]


def kwok(layout: Layout) -> list[str]:
    """Keeps the cluster's nodes and pods alive, after manifests/kwok-stages.yaml."""
    return [
        f"--kubeconfig={layout.kubeconfig('kwok')}",
        f"--config={layout.kwok_stages}",
        "--manage-all-nodes",
        "--cidr=10.244.0.0/16",
        "--node-port=0",
        "--node-lease-duration-seconds=40",
    ]
