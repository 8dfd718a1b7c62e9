"""The programs of the embedded control plane: found, downloaded or built, in the versions of
`pins`.

`python -m conformance.cluster.programs` prepares all of them and prints where each came from.
Searched in this order: paths given, KUBEBUILDER_ASSETS, PATH (only the pinned version), the cache
(${XDG_CACHE_HOME:-~/.cache}/dgd-conformance/programs), the official release with its checksum, a
build from Go modules. A base URL in `pins` is overridden by its environment variable; empty
switches it off."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock

from conformance.cluster import _crds
from conformance.cluster._download import Downloader, DownloadError
from conformance.cluster._gobuild import Toolchain
from conformance.cluster._progress import Progress
from conformance.cluster._sources import (
    Found,
    Source,
    architecture,
    cache_directory,
    cache_root,
    home,
    look_around,
)
from conformance.cluster.pins import LWS_MODULE, PINS, Program
from conformance.model.errors import ConformanceError, UsageError

__all__ = ["Found", "Program", "Programs", "Source", "ensure"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Programs:
    """All programs of a control plane, and the CRDs of the LeaderWorkerSet controller."""

    found: Mapping[Program, Found]
    crds: Path
    """A JSON list."""

    def path(self, program: Program) -> Path:
        """The executable."""
        return self.found[program].path

    def lws_crds(self) -> list[dict[str, Any]]:
        """The CustomResourceDefinitions that the LeaderWorkerSet controller needs."""
        return _crds.load(self.crds)

    def table(self) -> str:
        """Program, version, source and path, a line each."""
        return "\n".join(
            f"{program.value:<24} {PINS[program].version:<8} {place.source.value:<19} {place.path}"
            for program, place in self.found.items()
        )


def ensure(
    *,
    given: Mapping[Program, Path] | None = None,
    environ: Mapping[str, str] | None = None,
    progress: Progress | None = None,
) -> Programs:
    """Find the programs, or make them: a cold build takes about 15 minutes on two cores, and one
    that was interrupted goes on where it stopped. One process at a time does so; others wait for
    it.

    `environ` None: this process' environment. Raises UsageError on another platform, for a wrong
    path, or where neither download nor build is possible; InfraError if a build fails."""
    environ = os.environ if environ is None else environ
    progress = Progress() if progress is None else progress
    hardware = architecture()
    cache = cache_root(environ)
    crds = cache_directory(cache, PINS[Program.LWS]) / "crds.json"
    found = look_around(given=given or {}, environ=environ, cache=cache, note=progress.say)
    if len(found) < len(Program) or not crds.exists():
        with _CacheLock(cache, progress):
            # Another run may have made them meanwhile.
            found = look_around(
                given=given or {}, environ=environ, cache=cache, note=lambda _: None
            )
            maker = _Maker(environ=environ, cache=cache, progress=progress, hardware=hardware)
            for program in Program:
                if program not in found:
                    found[program] = maker.make(program)
            if not crds.exists():
                maker.make_crds(crds)
    return Programs(found={program: found[program] for program in Program}, crds=crds)


class _Maker:
    """Downloads or builds what is missing; the toolchain is looked for only when it is needed."""

    def __init__(
        self, *, environ: Mapping[str, str], cache: Path, progress: Progress, hardware: str
    ) -> None:
        self._environ = environ
        self._cache = cache
        self._progress = progress
        self._downloader = Downloader(environ=environ, architecture=hardware)
        self._toolchain: Toolchain | None = None

    def make(self, program: Program) -> Found:
        pin = PINS[program]
        target = cache_directory(self._cache, pin) / program.value
        number = f"{list(Program).index(program) + 1} of {len(Program)}"
        if pin.release is not None:
            try:
                self._downloader.fetch(pin, target)
            except DownloadError as failure:
                self._progress.say(f"{program.value} {pin.version} is not downloaded: {failure}")
            else:
                self._progress.say(f"downloaded {program.value} {pin.version} ({number})")
                return Found(target, Source.DOWNLOAD)
        title = f"building {program.value} {pin.version} ({number})"
        self.toolchain.build(program, pin, target, title=title)
        return Found(target, Source.BUILD)

    def make_crds(self, target: Path) -> None:
        # Go's module cache has the module already if the controller was built on this machine.
        go_path = self._environ.get("GOPATH") or os.path.join(home(self._environ), "go")
        modules = self._environ.get("GOMODCACHE") or os.path.join(go_path, "pkg", "mod")
        module = Path(modules) / LWS_MODULE
        if not module.is_dir():
            with self._progress.step(f"downloading the Go module {LWS_MODULE}"):
                module = self.toolchain.module_directory(
                    LWS_MODULE, required_by=PINS[Program.LWS].module
                )
        _crds.store(_crds.convert(module), target)

    @property
    def toolchain(self) -> Toolchain:
        if self._toolchain is None:
            self._toolchain = Toolchain(
                environ=self._environ, cache=self._cache, progress=self._progress
            )
        return self._toolchain


class _CacheLock:
    """Holds the cache's lock, and says so when it has to wait for another run."""

    def __init__(self, cache: Path, progress: Progress) -> None:
        self._progress = progress
        try:
            cache.mkdir(parents=True, exist_ok=True)
            self._lock = filelock.FileLock(cache / ".lock")
        except OSError as error:
            raise UsageError(
                f"the cache directory {cache} cannot be used ({error}): name another in "
                "XDG_CACHE_HOME"
            ) from error

    def __enter__(self) -> None:
        try:
            self._lock.acquire(timeout=0)
        except filelock.Timeout:
            with self._progress.step("waiting for another run that prepares the programs"):
                self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def main(argv: list[str] | None = None) -> int:
    """Prepare all programs; print where each came from."""
    parser = argparse.ArgumentParser(
        prog="python -m conformance.cluster.programs",
        description="Find, download or build the programs of the embedded control plane.",
    )
    parser.parse_args(argv)
    try:
        programs = ensure()
    except ConformanceError as error:
        print(f"error: {error}", file=sys.stderr)
        return 4 if isinstance(error, UsageError) else 3
    except KeyboardInterrupt:
        print("interrupted; the next run goes on from here", file=sys.stderr)
        return 130
    print(programs.table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
