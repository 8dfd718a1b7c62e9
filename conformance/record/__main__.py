"""`python -m conformance.record`: the recorder as a process of its own, one a control plane."""

import argparse
import json
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path

from conformance.kube import Api
from conformance.model.errors import ConformanceError, UsageError
from conformance.record.files import Ready
from conformance.record.recorder import Recorder

_AGENT = "dgd-conformance-recorder"
_CONNECTIONS = 128


def main(argv: Sequence[str] | None = None) -> int:
    """Record until SIGTERM, or until the parent is gone. 0 after an orderly end, 4 for a usage
    error, 3 if recording became impossible."""
    parser = argparse.ArgumentParser(prog="python -m conformance.record", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, required=True)
    parser.add_argument("--context", help="default: the current one")
    parser.add_argument("--audit-log", type=Path, help="JSON lines at level Metadata")
    parser.add_argument("--out", type=Path, required=True, help="directory to record into")
    parser.add_argument("--users", default="{}", help="JSON: user name in the audit log → actor")
    parser.add_argument("--parent", type=int, help="stop once this process is no longer the parent")
    try:
        recorder = _recorder(parser.parse_args(argv))
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: recorder.stop())
        recorder.run()
    except ConformanceError as error:
        print(error, file=sys.stderr)
        return 4 if isinstance(error, UsageError) else 3
    return 0


def _recorder(options: argparse.Namespace) -> Recorder:
    try:
        users = json.loads(options.users)
    except ValueError as error:
        raise UsageError(f"--users is no JSON object: {error}") from error
    if not isinstance(users, dict):
        raise UsageError(f"--users is {users!r}, expected a JSON object of user name to actor")
    options.out.mkdir(parents=True, exist_ok=True)
    if Ready.file(options.out).exists():
        raise UsageError(f"{options.out} holds the record of another run; give an empty directory")
    api = Api.from_kubeconfig(
        options.kubeconfig, context=options.context, user_agent=_AGENT, connections=_CONNECTIONS
    )
    return Recorder(
        api=api,
        directory=options.out,
        audit_log=options.audit_log,
        users=users,
        alive=lambda: options.parent in (None, os.getppid()),
    )


if __name__ == "__main__":
    code = main()
    sys.stdout.flush()
    sys.stderr.flush()
    # The watch threads sleep in the kernel; waiting for them would take until their next event.
    os._exit(code)
