"""`python -m conformance cleanup --kube-context=NAME`: what crashed runs left in that cluster."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from conformance.cluster.own import cleanup, kubeconfig, reach
from conformance.cluster.own.cleanup import Leftover
from conformance.cluster.own.options import CONTEXT_OPTION
from conformance.kube import Api
from conformance.model.errors import UsageError

EXIT_STUCK = 1


def run(arguments: argparse.Namespace) -> int:
    """List left-overs of crashed runs, ask, remove them. 0: nothing of them is left (or --dry-run);
    1: something is still there, told in a sentence each. Raises UsageError, InfraError."""
    with (
        tempfile.TemporaryDirectory(prefix="dgd-conformance-") as directory,
        _api(arguments, Path(directory)) as api,
    ):
        found = cleanup.find(api)
        rows = [row for row in found if arguments.all or not row.alive]
        spared = [row for row in found if row not in rows]
        if spared:
            runs = ", ".join(sorted({row.run or "without an id" for row in spared}))
            print(f"left alone: {len(spared)} of runs that are going on ({runs}); --all takes them")
        if not rows:
            print("nothing is left of crashed runs")
            return 0
        for row in rows:
            print(f"{'would remove' if arguments.dry_run else 'to remove'}: {row}")
        if arguments.dry_run:
            return 0
        if not arguments.yes and not _asked(rows):
            print("nothing was removed")
            return EXIT_STUCK
        removal = cleanup.remove(api, rows, tell=print)
    print(f"removed {len(removal.removed)} of {len(rows)}")
    for sentence in removal.stuck:
        print(sentence)
    return EXIT_STUCK if removal.stuck else 0


def _api(arguments: argparse.Namespace, directory: Path) -> Api:
    files = kubeconfig.files(arguments.kubeconfig)
    name = kubeconfig.require(files, arguments.kube_context, option=CONTEXT_OPTION)
    context = kubeconfig.read(files, name)
    reach.check_identity(context)
    api = Api.from_kubeconfig(context.write(directory / "kubeconfig"))
    reach.first_answer(api, context)
    return api


def _asked(rows: list[Leftover]) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nobody is there to ask; give --yes to remove what is listed above")
    return input(f"Remove these {len(rows)}? [y/N] ").strip().lower() in ("y", "yes")
