"""`python -m conformance doctor`: what this machine has, which kinds of cluster would work on it, and
what to install for those that would not. Nothing is built, downloaded or started."""

from __future__ import annotations

import argparse
import json
import shutil
import sys

from conformance.doctor.diagnosis import Diagnosis, examine
from conformance.doctor.table import render
from conformance.model.errors import Exit

__all__ = ["Diagnosis", "examine", "render", "run"]


def run(arguments: argparse.Namespace) -> int:
    """The command: 0 if some kind of cluster works here, else 1."""
    found = examine()
    if arguments.json:
        print(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
    else:
        width = shutil.get_terminal_size((100, 24)).columns
        print(render(found, width=width, color=sys.stdout.isatty()))
    return Exit.OK if found.works else Exit.DIFFERS
