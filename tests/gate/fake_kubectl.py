"""A kubectl for collect.sh: pods are folders below $CLUSTER, and `exec` runs in them.

CLUSTER/job.json            the Job, with its status
CLUSTER/pods/NAME/pod.json  name, index and phase
CLUSTER/pods/NAME/results   what the pod has at /results
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

CLUSTER = Path(os.environ["CLUSTER"])


def main(arguments: list[str]) -> int:
    with (CLUSTER / "calls.log").open("a") as file:
        print(*arguments, file=file)
    assert arguments.pop(0) == "--namespace=dgd-conformance"
    verb, *rest = arguments
    return VERBS[verb](rest)


def get(rest: list[str]) -> int:
    kind, path = rest[0], rest[rest.index("-o") + 1].removeprefix("jsonpath=")
    if kind == "job":
        job: dict[str, Any] = json.loads((CLUSTER / "job.json").read_text())
        spec = job["spec"]["template"]["spec"]
        volume = next(volume for volume in spec["volumes"] if volume["name"] == "results")
        claim = volume.get("persistentVolumeClaim", {}).get("claimName", "")
        ended = [c["type"] for c in job["status"].get("conditions", []) if c["status"] == "True"]
        answers = {
            "{.spec.completions}": job["spec"]["completions"],
            "{.spec.template.spec}": json.dumps(spec),
            '{.spec.template.spec.volumes[?(@.name=="results")].persistentVolumeClaim.claimName}': (
                claim
            ),
            '{range .status.conditions[?(@.status=="True")]}{.type}{"\\n"}{end}': "\n".join(ended),
        }
        print(answers[path])
    elif kind == "pods":
        index = re.search(r"job-completion-index=(\d+)", " ".join(rest))
        assert index
        assert f"job-name={json.loads((CLUSTER / 'job.json').read_text())['name']}," in " ".join(
            rest
        )
        for pod in sorted((CLUSTER / "pods").iterdir()):
            if json.loads((pod / "pod.json").read_text()).get("index") == int(index[1]):
                print(pod.name)
    else:
        print(json.loads((CLUSTER / "pods" / rest[1] / "pod.json").read_text())["phase"])
    return 0


def execute(rest: list[str]) -> int:
    place = CLUSTER / "pods" / rest[0]
    assert json.loads((place / "pod.json").read_text())["phase"] == "Running"
    command = rest[rest.index("--") + 1 :]
    inside = [re.sub("^/results", str(place / "results"), word) for word in command]
    code = subprocess.run(inside).returncode
    after = place / "after-exec"
    if after.exists():
        after.chmod(0o755)
        subprocess.run([str(after)])
    return code


def create(_rest: list[str]) -> int:
    pod = json.load(sys.stdin)
    place = CLUSTER / "pods" / pod["metadata"]["name"]
    place.mkdir()
    (place / "manifest.json").write_text(json.dumps(pod))
    (place / "pod.json").write_text(json.dumps({"phase": "Running"}))
    claim = pod["spec"]["volumes"][0]["persistentVolumeClaim"]["claimName"]
    (place / "results").symlink_to(CLUSTER / "claims" / claim)
    return 0


def delete(rest: list[str]) -> int:
    place = CLUSTER / "pods" / rest[1]
    if place.exists():
        place.rename(CLUSTER / f"deleted-{rest[1]}")
    return 0


VERBS = {"get": get, "exec": execute, "create": create, "delete": delete}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
