"""Tokens that change: from a credential plugin (`exec`) or a file (`tokenFile`).

The client library swallows a plugin's errors, lets it hang for ever, and runs it once a thread when
a token expires; here it is one run at a time, bounded, and its failure is a sentence.
"""

import datetime
import json
import os
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conformance.model.errors import UsageError

PLUGIN_SECONDS = 15.0
"""One run of a credential plugin: those that ask a cloud need 1-5 s."""
FILE_SECONDS = 60.0
"""A token file is read again this often, as client-go does: bound tokens are rotated in place."""
EARLY_SECONDS = 30.0
"""A token is fetched anew this long before it expires, but used for at least half of its life."""


@dataclass(frozen=True, slots=True)
class Credential:
    """What identifies the suite until `until` (seconds since the epoch)."""

    token: str = ""
    pair: str = ""
    """PEM of a client certificate and its key, which a plugin may give in place of a token."""
    until: float = float("inf")


class Credentials:
    """The present credential, fetched anew in time. Thread-safe: one fetch at a time. `fetch` raises
    UsageError in one sentence."""

    def __init__(self, fetch: Callable[[], Credential]) -> None:
        self._fetch = fetch
        self._lock = threading.Lock()
        self._present = fetch()

    @property
    def present(self) -> Credential:
        """A credential that is not about to expire. Raises UsageError if none can be had."""
        with self._lock:
            if time.time() >= self._present.until:
                self._present = self._fetch()
            return self._present


def read_token(path: Path) -> Credential:
    """The bearer token in a file. Raises UsageError if it cannot be read or is empty."""
    try:
        token = path.read_text(encoding="utf-8").strip()
    except (OSError, ValueError) as error:
        raise UsageError(f"the token file {path} cannot be read: {error}") from error
    if not token:
        raise UsageError(f"the token file {path} is empty, expected a bearer token")
    return Credential(token=token, until=time.time() + FILE_SECONDS)


class Plugin:
    """A credential plugin as a kubeconfig's user names it under `exec`."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        *,
        folder: Path,
        cluster: Mapping[str, Any] | None = None,
        seconds: float = PLUGIN_SECONDS,
    ) -> None:
        """`folder`: the kubeconfig's, from which a relative path of the command counts. Raises
        UsageError if settings are missing."""
        if not settings.get("command") or not settings.get("apiVersion"):
            raise UsageError("the user's `exec` in the kubeconfig needs `command` and `apiVersion`")
        self.command = program = str(settings["command"])
        if "/" in program:
            program = str(folder / Path(program).expanduser())
        self._argv = [program, *map(str, settings.get("args") or ())]
        self._version = str(settings["apiVersion"])
        spec: dict[str, Any] = {"interactive": False}
        if settings.get("provideClusterInfo") and cluster is not None:
            spec["cluster"] = dict(cluster)
        info = {"apiVersion": self._version, "kind": "ExecCredential", "spec": spec}
        self._env = {row["name"]: str(row["value"]) for row in settings.get("env") or ()}
        self._env["KUBERNETES_EXEC_INFO"] = json.dumps(info)
        self._hint = str(settings.get("installHint") or "").strip()
        self._seconds = seconds

    def fetch(self) -> Credential:
        """Run it. Raises UsageError if it is missing, fails, hangs, or says something else."""
        began = time.time()
        status = self._status(self._output())
        token = str(status.get("token") or "")
        pem = status.get("clientCertificateData"), status.get("clientKeyData")
        pair = f"{pem[0]}\n{pem[1]}\n" if all(pem) else ""
        if not token and not pair:
            raise self._wrong("gave neither a token nor a client certificate with its key")
        until = float("inf")
        if status.get("expirationTimestamp"):
            try:
                end = datetime.datetime.fromisoformat(str(status["expirationTimestamp"]))
                until = max(end.timestamp() - EARLY_SECONDS, (began + end.timestamp()) / 2)
            except ValueError:
                raise self._wrong("gave an expirationTimestamp that is no time") from None
        return Credential(token=token, pair=pair, until=until)

    def _output(self) -> str:
        process = self._start()
        try:
            output, errors = process.communicate(timeout=self._seconds)
        except subprocess.TimeoutExpired:
            raise self._wrong(
                f"gave no answer within {self._seconds:g} s; it may be waiting for a login, so log "
                "in first (kubectl get namespaces)"
            ) from None
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.communicate()
        if process.returncode:
            words = errors.strip().splitlines()
            said = f": {words[-1][:200]}" if words else " and said nothing"
            raise self._wrong(f"ended with code {process.returncode}{said}")
        return output

    def _start(self) -> subprocess.Popen[str]:
        env = {**os.environ, **self._env}
        program = self._argv[0]
        try:
            if "/" not in program and shutil.which(program, path=env.get("PATH")) is None:
                raise FileNotFoundError
            return subprocess.Popen(
                self._argv, env=env, encoding="utf-8", errors="replace",
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                # A group of its own: what it starts ends with it.
                start_new_session=True,
            )  # fmt: skip
        except FileNotFoundError:
            hint = f" ({self._hint.splitlines()[0]})" if self._hint else ""
            raise self._wrong(f"is not installed or not on PATH{hint}") from None
        except OSError as error:
            raise self._wrong(f"cannot be run: {error.strerror or error}") from error

    def _status(self, output: str) -> Mapping[str, Any]:
        try:
            answer = json.loads(output)
            version, status = answer["apiVersion"], dict(answer["status"])
        except (ValueError, TypeError, KeyError):
            raise self._wrong("answered something that is no ExecCredential") from None
        if version != self._version:
            raise self._wrong(f"speaks {version}, the kubeconfig asks for {self._version}")
        return status

    def _wrong(self, what: str) -> UsageError:
        return UsageError(f"the credential plugin {self.command} of the kubeconfig {what}")
