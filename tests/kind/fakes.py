"""A pretended machine: kind, kubectl and docker that do little, and note what they are asked."""

import json
from dataclasses import dataclass
from pathlib import Path

from conformance.cluster.kind.docker import Docker
from conformance.cluster.kind.options import KindOptions, Tools, find_tools
from conformance.cluster.kind.reaper import AUDIT
from conformance.cluster.programs.pins import PINS, Program
from tests.cluster import fakes

KUBECONFIG = json.dumps(
    {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "kind-x", "cluster": {"server": "https://127.0.0.1:1"}}],
        "users": [{"name": "kind-x", "user": {"token": "t"}}],
        "contexts": [{"name": "kind-x", "context": {"cluster": "kind-x", "user": "kind-x"}}],
        "current-context": "kind-x",
    }
)

_KIND = """#!/bin/sh
echo "$*" >> {state}/kind.calls
for word in "$@"; do
  case "$word" in --kubeconfig=*) kubeconfig=${{word#--kubeconfig=}} ;; esac
done
case "$1 $2" in
  "get clusters") cat {state}/clusters ;;
  "version ") echo "kind v0.33.0 go1.26.8 linux/amd64" ;;
  "create cluster")
    echo "Creating cluster ..." >&2
    if [ -e {state}/slow ]; then echo $$ > {state}/pid; sleep 60 & wait; fi
    if [ -e {state}/refusal ]; then cat {state}/refusal >&2; exit 1; fi
    cp {state}/kubeconfig "$kubeconfig" ;;
  "export kubeconfig") cp {state}/kubeconfig "$kubeconfig" ;;
  "delete cluster") : > {state}/clusters; : > {state}/ids; echo "[]" > {state}/inspected ;;
esac
"""

_DOCKER = """#!/bin/sh
echo "$*" >> {state}/docker.calls
case "$1" in
  info) cat {state}/info; exit $(cat {state}/info.code) ;;
  ps) cat {state}/ids ;;
  inspect) cat {state}/inspected ;;
  rm) : > {state}/clusters; : > {state}/ids; echo "[]" > {state}/inspected ;;
  image) for name in "$@"; do :; done; grep -qxF "$name" {state}/images ;;
  pull)
    [ -e {state}/registry ] || {{ echo "no such host" >&2; exit 1; }}
    echo "$3" >> {state}/images ;;
  build)
    cat "$5/Dockerfile" > {state}/dockerfile
    cp "$5/manager" {state}/built
    echo "$4" >> {state}/images ;;
  exec) cat {state}/executed ;;
esac
"""


@dataclass(frozen=True)
class Machine:
    """`state` holds what the programs answer, and what they were asked."""

    root: Path

    @property
    def state(self) -> Path:
        return self.root / "state"

    @property
    def bin(self) -> Path:
        return self.root / "bin"

    @property
    def environ(self) -> dict[str, str]:
        return {
            "HOME": str(self.root),
            "XDG_STATE_HOME": str(self.root / "home"),
            "PATH": f"{self.bin}:/usr/bin:/bin",
            "KUBEBUILDER_ASSETS": str(self.root / "assets"),
            "DGD_CONFORMANCE_IMAGE_REGISTRY": "",
            "DGD_CONFORMANCE_LWS_URL": "",
        }

    @property
    def docker(self) -> Docker:
        return Docker(self.bin / "docker", self.environ)

    def tools(self, options: KindOptions | None = None) -> Tools:
        return find_tools(options or KindOptions(), {**self.environ, "PATH": str(self.bin)})

    def set(self, name: str, content: str = "") -> None:
        (self.state / name).write_text(content, encoding="utf-8")

    def calls(self, program: str) -> list[str]:
        log = self.state / f"{program}.calls"
        return log.read_text(encoding="utf-8").splitlines() if log.exists() else []

    def run_node(
        self, cluster: str, audit: Path, *, status: str = "running", code: int = 0
    ) -> None:
        """A node container of that cluster is there."""
        self.set("clusters", f"{cluster}\n")
        self.set("ids", "0123\n")
        container = {
            "Name": f"/{cluster}-control-plane",
            "State": {"Status": status, "ExitCode": code},
            "Config": {"Labels": {"io.x-k8s.kind.cluster": cluster}},
            "Mounts": [{"Type": "bind", "Source": str(audit), "Destination": AUDIT}],
        }
        self.set("inspected", json.dumps([container]))


def machine_at(root: Path) -> Machine:
    machine = Machine(root)
    machine.state.mkdir(parents=True)
    machine.bin.mkdir()
    for name in ("clusters", "ids", "images", "executed"):
        machine.set(name)
    machine.set("inspected", "[]")
    machine.set("info", "null\n")
    machine.set("info.code", "0")
    machine.set("kubeconfig", KUBECONFIG)
    program_at(machine.bin / "kind", _KIND.format(state=machine.state))
    program_at(machine.bin / "docker", _DOCKER.format(state=machine.state))
    program_at(machine.bin / "kubectl", '#!/bin/sh\necho kubectl "$@"\n')
    for program in (Program.LWS, Program.KWOK):
        fakes.program_at(machine.root / "assets" / program.value, fakes.says(program))
    # The manifests of an earlier run.
    cache = machine.root / ".cache" / "dgd-conformance" / "programs"
    cache = cache / f"lws-{PINS[Program.LWS].version}-manifests"
    cache.mkdir(parents=True)
    (cache / "module.json").write_text("[]", encoding="utf-8")
    return machine


def program_at(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    path.chmod(0o755)
    return path
