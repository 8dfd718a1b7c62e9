"""Programs that are on the machine already, and where the suite keeps its own."""

import contextlib
import enum
import os
import platform
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
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


def crds_file(environ: Mapping[str, str]) -> Path:
    """Where the LeaderWorkerSet CRDs are kept."""
    return cache_directory(cache_root(environ), PINS[Program.LWS]) / "crds.json"


@contextlib.contextmanager
def whole_file(target: Path) -> Iterator[Path]:
    """A file to write, which becomes `target` when the block ends, and is removed if it raises."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = target.with_name(f".{target.name}.{os.getpid()}.part")
    try:
        yield part
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)


def said(
    *command: str | Path, environ: Mapping[str, str] | None = None, within: float = VERSION_SECONDS
) -> tuple[bool, str]:
    """Whether a command succeeded, and what it said: its first line, or the last one of its errors."""
    try:
        done = subprocess.run(
            command, env=environ, capture_output=True, text=True, errors="replace", timeout=within,
            stdin=subprocess.DEVNULL, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return False, f"no answer within {within:g} s"
    except OSError as error:
        return False, error.strerror or str(error)
    if done.returncode == 0:
        return True, f"{done.stdout}\n{done.stderr}".strip().partition("\n")[0].strip()
    last = done.stderr.strip().rpartition("\n")[2].strip()
    return False, last or f"it ended with code {done.returncode}"


def is_pinned(line: str, pin: Pin, *, or_unstamped: bool = False) -> bool:
    """Whether the line names the pinned version, and not one that only begins like it."""
    unstamped = pin.unstamped is not None and pin.unstamped in line
    named = re.search(rf"(?<![\d.])v?{re.escape(pin.version)}(?![\w.-])", line)
    return named is not None or (or_unstamped and unstamped)


def look_around(environ: Mapping[str, str], *, note: Callable[[str], None]) -> dict[Program, Found]:
    """What is there, by the order of `Source`; `note` is told of what has another version."""
    with ThreadPoolExecutor(max_workers=len(Program)) as pool:
        places = pool.map(lambda program: _find(program, environ, note), Program)
        found = zip(Program, places, strict=True)
        return {program: place for program, place in found if place is not None}


def _find(
    program: Program, environ: Mapping[str, str], note: Callable[[str], None]
) -> Found | None:
    pin = PINS[program]
    for source in (Source.ASSETS, Source.PATH):
        path = shutil.which(program.value, path=environ.get(source.value, ""))
        if path is None:
            continue
        good, line = said(path, "--version")
        # In a directory that was named, an unstamped build is taken at its word.
        if good and is_pinned(line, pin, or_unstamped=source is Source.ASSETS):
            return Found(Path(path).resolve(), source)
        note(
            f"passed over {path} ({source.value}): expected version {pin.version}, "
            f"it says {line[:80]!r}"
        )
    cached = shutil.which(program.value, path=str(cache_directory(cache_root(environ), pin)))
    return None if cached is None else Found(Path(cached), Source.CACHE)
