"""The controller manager in a node is restarted, also where containerd is slow to answer."""

import os
import subprocess
from pathlib import Path

from conformance.cluster.kind.docker import Docker

# Containerd answers the removal only at the third try; then kubelet makes another container.
_CRICTL = """#!/bin/sh
echo "$@" >> {log}
case "$*" in
  *" ps "*) cat {there} ;;
  *" rm "*)
    tries=$(grep -c " rm " {log})
    if [ "$tries" -lt 3 ]; then echo "DeadlineExceeded" >&2; exit 1; fi
    echo new > {there} ;;
esac
"""


def run(directory: Path) -> tuple[subprocess.CompletedProcess[str], list[str]]:
    log, there = directory / "log", directory / "there"
    there.write_text("old\n")
    for name, text in (("crictl", _CRICTL.format(log=log, there=there)), ("curl", "#!/bin/sh\n")):
        program = directory / name
        program.write_text(text)
        program.chmod(0o755)

    class Container:
        """Runs in this process what a node's container would run."""

        def execute(self, _node: str, argv: list[str], *, timeout: float) -> str:
            self.ended = subprocess.run(
                argv, capture_output=True, text=True, timeout=timeout, check=False,
                env={"PATH": f"{directory}:{os.environ['PATH']}"},
            )  # fmt: skip
            return self.ended.stdout

    container = Container()
    Docker.restart_controller_manager(container, "a-node")  # type: ignore[arg-type] # a part of it
    return container.ended, log.read_text().splitlines()


def test_a_removal_that_times_out_is_tried_again_until_another_container_runs(
    tmp_path: Path,
) -> None:
    ended, calls = run(tmp_path)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert [call for call in calls if " rm " in call] == ["--timeout 60s rm --force old"] * 3
    assert all(call.startswith("--timeout 60s ") for call in calls)
