"""Programs that are already on the machine: given, KUBEBUILDER_ASSETS, PATH, the cache."""

from __future__ import annotations

import enum
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from conformance.cluster.programs.pins import PINS, Pin, Program
from conformance.model.errors import UsageError

VERSION_SECONDS = 20.0
"""For a program to say its version: it takes 0.03 s, more when its 100 MB come from a cold disk."""

_ARCHITECTURES = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}


class Source(enum.StrEnum):
    """Where a program came from; the order is the order of search."""

    GIVEN = "given"
    ASSETS = "KUBEBUILDER_ASSETS"
    PATH = "PATH"
    CACHE = "cache"
    DOWNLOAD = "downloaded"
    BUILD = "built"


@dataclass(frozen=True, slots=True)
class Found:
    """A program and where it came from."""

    path: Path
    source: Source


class Match(enum.Enum):
    """What a program says about its version."""

    YES = enum.auto()
    UNSTAMPED = enum.auto()
    NO = enum.auto()


def architecture(*, system: str = sys.platform, machine: str | None = None) -> str:
    """amd64 or arm64. Raises UsageError anywhere but on Linux on one of them."""
    machine = platform.machine() if machine is None else machine
    found = _ARCHITECTURES.get(machine.lower())
    if system != "linux" or found is None:
        raise UsageError(
            "the embedded control plane runs on Linux on amd64 or arm64, and this machine is "
            f"{system} on {machine}: run the suite there, or in a Linux container"
        )
    return found


def home(environ: Mapping[str, str]) -> str:
    """The user's home directory."""
    return environ.get("HOME") or os.path.expanduser("~")


def cache_root(environ: Mapping[str, str]) -> Path:
    """The suite's cache directory."""
    base = environ.get("XDG_CACHE_HOME") or os.path.join(home(environ), ".cache")
    return Path(base) / "dgd-conformance" / "programs"


def cache_directory(root: Path, pin: Pin) -> Path:
    """Where the programs of one module and version lie: another version never takes their place."""
    return root / f"{pin.module}-{pin.version}-linux-{architecture()}"


def said_version(path: Path) -> str:
    """The first line of what it answers to `--version`; empty if it does not run."""
    try:
        result = subprocess.run(
            [str(path), "--version"],
            capture_output=True,
            text=True,
            timeout=VERSION_SECONDS,
            check=False,
            stdin=subprocess.DEVNULL,
        )
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError):
        return ""
    return (result.stdout.strip() or result.stderr.strip()).split("\n")[0]


def compare(said: str, pin: Pin) -> Match:
    """Whether the line names the pinned version, and not one that only begins like it."""
    if re.search(rf"(?<![\d.])v?{re.escape(pin.version)}(?![\w.-])", said):
        return Match.YES
    if pin.unstamped is not None and pin.unstamped in said:
        return Match.UNSTAMPED
    return Match.NO


def look_around(
    *,
    given: Mapping[Program, Path],
    environ: Mapping[str, str],
    cache: Path,
    note: Callable[[str], None],
) -> dict[Program, Found]:
    """What is there, by the order of `Source`. `note` is told of each program that was passed over
    because of its version. Raises UsageError if a given path is not an executable file."""
    for program, path in given.items():
        if not _executable(path):
            raise UsageError(
                f"the path given for {program} is {path}, expected an executable file: correct the "
                "path, or leave it out to have the program found or built"
            )
    with ThreadPoolExecutor(max_workers=len(Program)) as pool:
        jobs = {
            program: pool.submit(
                _find, program, given=given, environ=environ, cache=cache, note=note
            )
            for program in Program
        }
        found = {program: job.result() for program, job in jobs.items()}
    return {program: place for program, place in found.items() if place is not None}


def _find(
    program: Program,
    *,
    given: Mapping[Program, Path],
    environ: Mapping[str, str],
    cache: Path,
    note: Callable[[str], None],
) -> Found | None:
    if program in given:
        return Found(given[program].resolve(), Source.GIVEN)
    pin = PINS[program]
    assets = environ.get("KUBEBUILDER_ASSETS")
    if assets:
        path = Path(assets) / program.value
        # A directory that was named: an unstamped build in it is taken at its word.
        if _executable(path) and _accepts(
            path, pin, Source.ASSETS, {Match.YES, Match.UNSTAMPED}, note
        ):
            return Found(path.resolve(), Source.ASSETS)
    on_path = shutil.which(program.value, path=environ.get("PATH", ""))
    if on_path is not None and _accepts(Path(on_path), pin, Source.PATH, {Match.YES}, note):
        return Found(Path(on_path).resolve(), Source.PATH)
    cached = cache_directory(cache, pin) / program.value
    return Found(cached, Source.CACHE) if _executable(cached) else None


def _accepts(
    path: Path, pin: Pin, source: Source, wanted: set[Match], note: Callable[[str], None]
) -> bool:
    said = said_version(path)
    if compare(said, pin) in wanted:
        return True
    note(
        f"passed over {path} ({source.value}): expected version {pin.version}, "
        f"it says {said[:80]!r}"
    )
    return False


def _executable(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)
