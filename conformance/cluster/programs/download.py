"""Official releases, with their checksums."""

import hashlib
import http.client
import re
import shutil
import tarfile
import urllib.error
import urllib.request
from collections.abc import Mapping
from pathlib import Path

from conformance.cluster.programs.pins import Pin
from conformance.cluster.programs.sources import architecture, whole_file
from conformance.model.errors import ConformanceError

PROBE_SECONDS = 5.0
"""For the checksum file, a few bytes. Where there is no network it must not hold up the build."""

STALL_SECONDS = 30.0
"""Without a byte of the program itself."""

_ALGORITHMS = {64: "sha256", 128: "sha512"}


class DownloadError(ConformanceError):
    """A release could not be had or does not match its checksum; the next source is tried."""


class Downloader:
    """Fetches programs; a server that did not answer once is not asked again."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._environ = environ
        self._silent: dict[str, str] = {}

    def fetch(self, pin: Pin, target: Path) -> None:
        """Put a program that has a release at `target`, whole or not at all. Raises DownloadError."""
        release = pin.release
        assert release is not None
        base = self._environ.get(release.base_variable, release.base).rstrip("/")
        if not base:
            raise DownloadError(f"downloads are switched off ({release.base_variable} is empty)")
        if not base.startswith(("http://", "https://")):
            raise DownloadError(
                f"{release.base_variable} is {base!r}, expected an http or https URL"
            )
        if base in self._silent:
            raise DownloadError(self._silent[base])
        fields = {"version": pin.version, "arch": architecture()}
        url = f"{base}/{release.path.format(**fields)}"
        expected = self._checksum(base, f"{base}/{release.checksums.format(**fields)}", url)
        with whole_file(target) as part:
            _download(url, part, expected)
            if release.member is not None:
                _extract(part, release.member.format(**fields), url)
            part.chmod(0o755)

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
        digest = r"[0-9a-fA-F]{64}|[0-9a-fA-F]{128}"
        line = re.search(rf"^({digest})([ \t]+\*?{re.escape(name)})?\s*$", text, re.MULTILINE)
        if line is None:
            raise DownloadError(f"{url} holds no SHA-256 or SHA-512 checksum of {name}")
        return line[1].lower()


def _download(url: str, target: Path, expected: str) -> None:
    try:
        with (
            urllib.request.urlopen(url, timeout=STALL_SECONDS) as response,
            target.open("w+b") as handle,
        ):
            shutil.copyfileobj(response, handle)
            handle.seek(0)
            digest = hashlib.file_digest(handle, _ALGORITHMS[len(expected)])
    except (OSError, http.client.HTTPException) as error:
        raise DownloadError(f"{url} broke off: {error}") from error
    if digest.hexdigest() != expected:
        raise DownloadError(
            f"{url} does not match its checksum and was thrown away: "
            f"expected {digest.name} {expected}, found {digest.hexdigest()}"
        )


def _extract(archive: Path, member: str, url: str) -> None:
    """Put the member in the archive's own place."""
    try:
        with tarfile.open(archive, "r:gz") as tar:
            source = tar.extractfile(member)
            if source is None:
                raise KeyError(f"{member} is not a file")
            content = source.read()
    except (KeyError, tarfile.TarError, EOFError, OSError) as error:
        raise DownloadError(f"{url} is not an archive with {member}: {error}") from error
    archive.write_bytes(content)
