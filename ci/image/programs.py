"""Copies the control plane's programs into a folder laid out as the suite's cache: programs.py FOLDER.

Wherever they were found, each is placed where the cache keeps its pinned version."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.prepare import ensure
from conformance.cluster.programs.sources import cache_directory


def main(target: Path) -> None:
    """Copy all of them."""
    programs = ensure()
    for program, found in programs.found.items():
        folder = cache_directory(target, PINS[program])
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy2(found.path, folder / program.value)
    shutil.copy2(programs.crds, cache_directory(target, PINS[Program.LWS]) / "crds.json")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
