"""`python -m conformance cleanup --kube-context=NAME`: cleans up after crashed runs in that cluster."""

import argparse
import sys
import tempfile
from pathlib import Path

from conformance.cluster.kubeconfig import connectivity, contexts, leftovers, removal
from conformance.kube import Api
from conformance.model.errors import Exit, UsageError


def run(arguments: argparse.Namespace) -> int:
    """List what crashed runs left, ask, remove it, and scale the operators back up that they had
    stopped. 0: nothing is left (or --dry-run); 1: something is, one sentence each."""
    with (
        tempfile.TemporaryDirectory(prefix="dgd-conformance-") as directory,
        _api(arguments, Path(directory)) as api,
    ):
        found = leftovers.find(api)
        rows = [row for row in found if arguments.all or not row.alive]
        spared = [row for row in found if row not in rows]
        if spared:
            runs = ", ".join(sorted({row.run or "without an id" for row in spared}))
            print(f"left alone: {len(spared)} of runs that are going on ({runs}); --all takes them")
        # A run that is going on may have stopped its operator for an instant.
        stopped = leftovers.stopped_operators(api) if arguments.all or not spared else []
        if not rows and not stopped:
            print("nothing is left of crashed runs")
            return 0
        will = "would" if arguments.dry_run else "to"
        for operator in stopped:
            was = f"a killed run scaled it to 0, from {operator.replicas}"
            print(f"{will} start again: {operator} ({was})")
        for row in rows:
            print(f"{will} remove: {row}")
        if arguments.dry_run:
            return 0
        if not arguments.yes and not _asked(len(rows) + len(stopped)):
            print("nothing was changed")
            return Exit.DIFFERS
        problems = []
        # First, so that finalizers of graphs can run.
        for operator in stopped:
            if problem := leftovers.start(api, operator):
                problems.append(f"{operator} could not be started again: {problem}")
            else:
                print(f"started again: {operator}")
        result = removal.remove(api, rows, tell=print)
    if rows:
        print(f"removed {len(result.removed)} of {len(rows)}")
    problems += result.stuck
    for sentence in problems:
        print(sentence)
    return Exit.DIFFERS if problems else Exit.OK


def _api(arguments: argparse.Namespace, directory: Path) -> Api:
    context = contexts.read(contexts.files(arguments.kubeconfig), arguments.kube_context)
    connectivity.check_identity(context)
    api = Api.from_kubeconfig(context.write(directory / "kubeconfig"))
    connectivity.first_answer(api, context)
    return api


def _asked(count: int) -> bool:
    if not sys.stdin.isatty():
        raise UsageError("nobody is there to ask; give --yes to do what is listed above")
    return input(f"Do these {count}? [y/N] ").strip().lower() in ("y", "yes")
