"""`python -m conformance cleanup`: cleans up after killed runs, on this machine or in a cluster."""

import argparse
import shutil
from pathlib import Path

from conformance.cluster.kind import Docker, directories
from conformance.cluster.kubeconfig import CONTEXT_OPTION, cleanup_command
from conformance.model.errors import Exit, UsageError


def run(arguments: argparse.Namespace) -> int:
    """0: nothing of killed runs is left (or --dry-run), else 1. Raises UsageError, InfraError."""
    if arguments.kube_context:
        return cleanup_command.run(arguments)
    if arguments.kubeconfig is not None:
        raise UsageError(f"--kubeconfig without {CONTEXT_OPTION}: name the context to clean")
    return _clean_kind(kept=arguments.all, dry_run=arguments.dry_run)


def _clean_kind(*, kept: bool, dry_run: bool) -> int:
    program = shutil.which("docker")
    if program is None:
        print("no docker on PATH, so no kind cluster can have been left here")
        return 0
    docker = Docker(Path(program))
    docker.check()
    wanted = []
    for row in directories.find(docker):
        if kept or not row.kept:
            wanted.append(row)
        else:
            print(f"left alone: {row}; --all takes it")
    if not wanted:
        print("nothing is left of killed runs")
        return 0
    for row in wanted:
        print(f"{'would remove' if dry_run else 'to remove'}: {row}")
    if dry_run:
        return 0
    removed = {row.name for row in directories.sweep(docker, kept=kept)}
    print(f"removed {len(removed)} of {len(wanted)}")
    left = [row for row in wanted if row.name not in removed]
    for row in left:
        print(f"still there: {row}")
    return Exit.DIFFERS if left else Exit.OK
