"""The programs of the embedded control plane: found (in KUBEBUILDER_ASSETS, on PATH, in the cache), or
downloaded with their checksum, or built from Go modules. An environment variable overrides each base
URL in `pins`; an empty one switches downloads off."""

import contextlib
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import filelock

from conformance.cluster.programs import lws_manifests
from conformance.cluster.programs.download import Downloader, DownloadError
from conformance.cluster.programs.go import Toolchain
from conformance.cluster.programs.pins import PINS, Program
from conformance.cluster.programs.progress import Progress
from conformance.cluster.programs.sources import (
    Found,
    Source,
    architecture,
    cache_directory,
    cache_root,
    crds_file,
    look_around,
)
from conformance.model.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """All programs of a control plane, and the CRDs of the LeaderWorkerSet controller."""

    found: Mapping[Program, Found]
    crds: Path
    """A JSON list."""

    def path(self, program: Program) -> Path:
        """The executable."""
        return self.found[program].path

    def lws_crds(self) -> lws_manifests.Objects:
        """Without them the LeaderWorkerSet controller ends."""
        return lws_manifests.load(self.crds)

    def table(self) -> str:
        """Program, version, source and path, a line each."""
        return "\n".join(
            f"{program.value:<24} {PINS[program].version:<8} {place.source.value:<19} {place.path}"
            for program, place in self.found.items()
        )


def ensure(
    *, environ: Mapping[str, str] = os.environ, progress: Progress | None = None
) -> Programs:
    """Find the programs, or make them: a cold build takes about 15 minutes on two cores, and one that
    was interrupted goes on where it stopped. One process at a time does so. Raises UsageError on
    another platform, or where neither download nor build is possible; InfraError if a build fails."""
    progress = progress or Progress()
    architecture()  # refuses another platform before anything is looked for
    crds = crds_file(environ)
    found = look_around(environ, note=progress.say)
    if len(found) < len(Program) or not crds.exists():
        with _cache_lock(cache_root(environ), progress):
            # Another run may have made them meanwhile.
            found = look_around(environ, note=lambda _: None)
            maker = _Maker(environ, progress)
            for program in Program:
                if program not in found:
                    found[program] = maker.make(program)
            if not crds.exists():
                module = lws_manifests.module_directory(environ, progress)
                lws_manifests.store(lws_manifests.crds_of(module), crds)
    return Programs(found={program: found[program] for program in Program}, crds=crds)


def ensure_one(program: Program, environ: Mapping[str, str], progress: Progress) -> Path:
    """The same for one program. Returns the executable."""
    found = look_around(environ, note=progress.say).get(program)
    if found is None:
        with _cache_lock(cache_root(environ), progress):
            found = _Maker(environ, progress).make(program)
    return found.path


class _Maker:
    """Downloads or builds what is missing."""

    def __init__(self, environ: Mapping[str, str], progress: Progress) -> None:
        self._cache = cache_root(environ)
        self._say = progress.say
        self._downloader = Downloader(environ)
        self._toolchain = Toolchain(environ=environ, progress=progress)

    def make(self, program: Program) -> Found:
        pin = PINS[program]
        what = f"{program.value} {pin.version}"
        number = f"{list(Program).index(program) + 1} of {len(Program)}"
        target = cache_directory(self._cache, pin) / program.value
        if pin.release is not None:
            try:
                self._downloader.fetch(pin, target)
                self._say(f"downloaded {what} ({number})")
                return Found(target, Source.DOWNLOAD)
            except DownloadError as failure:
                self._say(f"{what} is not downloaded: {failure}")
        self._toolchain.build(program, target, title=f"building {what} ({number})")
        return Found(target, Source.BUILD)


@contextlib.contextmanager
def _cache_lock(cache: Path, progress: Progress) -> Iterator[None]:
    """Holds the cache's lock, and says so when it has to wait for another run."""
    try:
        cache.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(cache / ".lock")
    except OSError as error:
        raise UsageError(
            f"the cache directory {cache} cannot be used ({error}): name another in XDG_CACHE_HOME"
        ) from error
    try:
        held = lock.acquire(timeout=0)
    except filelock.Timeout:
        with progress.step("waiting for another run that prepares the programs"):
            held = lock.acquire()
    with held:
        yield
