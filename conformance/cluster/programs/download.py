"""Official releases, with their checksums."""

from __future__ import annotations

import hashlib
import http.client
import os
import tarfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from conformance.cluster.programs.pins import Pin, Release
from conformance.model.errors import ConformanceError

PROBE_SECONDS = 5.0
"""For the checksum file, a few bytes. Where there is no network it must not hold up the build."""

STALL_SECONDS = 30.0
"""Without a byte of the program itself."""

_ALGORITHMS = {64: "sha256", 128: "sha512"}
_CHUNK = 1 << 20


class DownloadError(ConformanceError):
    """A release could not be had or does not match its checksum; the next source is tried."""


class Downloader:
    """Fetches programs; a server that did not answer once is not asked again."""

    def __init__(self, *, environ: Mapping[str, str], architecture: str) -> None:
        self._environ = environ
        self._architecture = architecture
        self._silent: dict[str, str] = {}

    def base(self, release: Release) -> str:
        """The base URL in force; empty if downloads from it are switched off."""
        return self._environ.get(release.base_variable, release.base).rstrip("/")

    def fetch(self, pin: Pin, target: Path) -> None:
        """Put the program of `pin` at `target`, whole or not at all. Raises DownloadError."""
        release = pin.release
        if release is None:
            raise DownloadError("there is no official release of it to download")
        base = self.base(release)
        if not base:
            raise DownloadError(f"downloads are switched off ({release.base_variable} is empty)")
        if not base.startswith(("http://", "https://")):
            raise DownloadError(
                f"{release.base_variable} is {base!r}, expected an http or https URL"
            )
        if base in self._silent:
            raise DownloadError(self._silent[base])
        fields = {"version": pin.version, "arch": self._architecture}
        url = f"{base}/{release.path.format(**fields)}"
        expected = self._checksum(base, f"{base}/{release.checksums.format(**fields)}", url)
        target.parent.mkdir(parents=True, exist_ok=True)
        part = target.with_name(f".{target.name}.{os.getpid()}.part")
        try:
            _download(url, part, expected)
            if release.member is not None:
                _extract(part, release.member.format(**fields), url)
            part.chmod(0o755)
            part.replace(target)
        finally:
            part.unlink(missing_ok=True)

    def _checksum(self, base: str, url: str, subject: str) -> str:
        try:
            with urllib.request.urlopen(url, timeout=PROBE_SECONDS) as response:
                text = response.read(1 << 20).decode("ascii", "replace")
        except urllib.error.HTTPError as error:
            raise DownloadError(f"{url} answered {error.code}") from error
        except (OSError, http.client.HTTPException, ValueError) as error:
            self._silent[base] = f"{base} cannot be reached: {error}"
            raise DownloadError(self._silent[base]) from error
        name = subject.rsplit("/", 1)[1]
        for line in text.splitlines():
            words = line.split()
            bare = len(words) == 1 and len(words[0]) in _ALGORITHMS
            listed = (
                len(words) == 2 and words[1].lstrip("*") == name and len(words[0]) in _ALGORITHMS
            )
            if bare or listed:
                return str(words[0]).lower()
        raise DownloadError(f"{url} holds no SHA-256 or SHA-512 checksum of {name}")


def _download(url: str, target: Path, expected: str) -> None:
    digest = hashlib.new(_ALGORITHMS[len(expected)])
    try:
        with (
            urllib.request.urlopen(url, timeout=STALL_SECONDS) as response,
            target.open("wb") as handle,
        ):
            while chunk := response.read(_CHUNK):
                digest.update(chunk)
                handle.write(chunk)
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"{url} broke off: {error}") from error
    if digest.hexdigest() != expected:
        raise DownloadError(
            f"{url} does not match its checksum and was thrown away: "
            f"expected {digest.name} {expected}, found {digest.hexdigest()}"
        )


def _extract(archive: Path, member: str, url: str) -> None:
    """Put the member in the archive's own place."""
    inner = archive.with_name(f"{archive.name}.member")
    try:
        with tarfile.open(archive, "r:gz") as tar:
            source = tar.extractfile(member)
            if source is None:
                raise DownloadError(f"{member} in {url} is not a file")
            with source, inner.open("wb") as handle:
                while chunk := source.read(_CHUNK):
                    handle.write(chunk)
        inner.replace(archive)
    except (KeyError, tarfile.TarError, EOFError, OSError) as error:
        raise DownloadError(f"{url} is not an archive with {member}: {error}") from error
    finally:
        inner.unlink(missing_ok=True)
