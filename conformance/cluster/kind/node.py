"""What runs in a kind node's container below the API server: containerd and static pods."""

from __future__ import annotations

from conformance.cluster.kind.docker import Docker
from conformance.model.errors import InfraError

_RESTART_SECONDS = 180
# crictl gives up after 2 s by default, which a busy machine needs for one answer of containerd.
_CRICTL = "crictl --timeout 60s"
_RESTART = f"""
running() {{ {_CRICTL} ps --quiet --name '^kube-controller-manager$'; }}
old=$(running)
end=$(($(date +%s) + {_RESTART_SECONDS}))
while [ "$(date +%s)" -lt "$end" ]; do
  new=$(running)
  # Removed, not just ended: kubelet makes a container that it finds dead wait, longer each time.
  if [ -n "$old" ] && [ "$new" = "$old" ]; then {_CRICTL} rm --force "$old" >/dev/null || true; fi
  if [ -n "$new" ] && [ "$new" != "$old" ] &&
    curl --silent --insecure --fail --max-time 2 https://127.0.0.1:10257/healthz >/dev/null
  then exit 0; fi
  sleep 0.1
done
echo "it did not come back within {_RESTART_SECONDS} s"
exit 1
"""


def containerd_answers(docker: Docker, cluster: str, node: str) -> bool:
    """The node's container runs, and images can be loaded into it."""
    if not any(each.state == "running" for each in docker.nodes(cluster)):
        return False
    try:
        docker.execute(node, ["ctr", "--namespace=k8s.io", "version"])
    except InfraError:
        return False
    return True


def restart_controller_manager(docker: Docker, node: str) -> None:
    """End it, and wait until another one answers. Raises InfraError if it does not come back."""
    docker.execute(node, ["sh", "-c", _RESTART], timeout=_RESTART_SECONDS + 30.0)
