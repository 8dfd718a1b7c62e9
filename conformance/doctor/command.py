"""`python -m conformance doctor`, and the diagnosis for people."""

import argparse
import json
import shutil
import sys

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from conformance.doctor.diagnosis import Diagnosis, Readiness, examine
from conformance.doctor.probing import State
from conformance.model.errors import Exit

_STYLES = {
    State.OK: "green",
    State.WARNING: "yellow",
    State.MISSING: "red",
    State.UNKNOWN: "magenta",
}
_WORDS = {
    Readiness.READY: ("works", "green"),
    Readiness.PREPARABLE: ("works after preparation", "yellow"),
    Readiness.NO: ("no", "red"),
}


def run(arguments: argparse.Namespace) -> int:
    """The command: 0 if some kind of cluster works here, else 1."""
    found = examine()
    if arguments.json:
        print(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
    else:
        width = shutil.get_terminal_size((100, 24)).columns
        print(render(found, width=width, color=sys.stdout.isatty()))
    return Exit.OK if found.works else Exit.DIFFERS


def render(diagnosis: Diagnosis, *, width: int = 100, color: bool = False) -> str:
    """Two tables: what was found, and which clusters would work."""
    console = Console(
        width=max(width, 60),
        force_terminal=color,
        color_system="standard" if color else None,
        highlight=False,
    )
    with console.capture() as capture:
        console.print(_findings(diagnosis))
        console.print(_kinds(diagnosis))
    return "\n".join(line.rstrip() for line in capture.get().strip("\n").splitlines())


def _table(*names: str, unbroken: int) -> Table:
    """Its first columns are `unbroken`."""
    table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False)
    for number, name in enumerate(names):
        table.add_column(name, overflow="fold", no_wrap=number < unbroken)
    return table


def _findings(diagnosis: Diagnosis) -> Table:
    table = _table("", "what", "version", "where, and what to know", unbroken=2)
    told: set[str] = set()
    for finding in diagnosis.findings:
        parts = [part for part in (finding.place, finding.note) if part]
        if finding.install and finding.state is not State.OK and finding.install not in told:
            told.add(finding.install)
            parts.append(f"→ {finding.install}")
        state = Text(finding.state, style=_STYLES[finding.state])
        table.add_row(state, finding.name, Text(finding.version), Text("\n".join(parts)))
    return table


def _kinds(diagnosis: Diagnosis) -> Table:
    table = _table("--cluster", "would it work", "why, and what to do", unbroken=1)
    for kind in diagnosis.kinds:
        word, style = _WORDS[kind.readiness]
        told = [*kind.reasons, *(f"→ {what}" for what in kind.install)]
        table.add_row(kind.kind.value, Text(word, style=style), Text("\n".join(told)))
    return table
