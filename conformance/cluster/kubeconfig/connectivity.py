"""Whether the cluster answers this identity; if not, the reason in one sentence and in seconds."""

import base64
import datetime
import json
import socket
import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import urllib3
from cryptography import x509

from conformance.cluster.kubeconfig.contexts import Context
from conformance.kube import Api, NoAnswerError
from conformance.model.errors import InfraError, UsageError

REACH_SECONDS = 5.0
"""Until the API server must have answered a small request; a far one needs a second."""
# OpenSSL's code of a verification → what is wrong.
_UNTRUSTED = {
    10: "its certificate has expired",
    62: "its certificate is for another name (`tls-server-name` in the kubeconfig may help)",
}
_UNKNOWN_AUTHORITY = (
    "its certificate is not signed by the certificate-authority of the kubeconfig; was the cluster "
    "made anew?"
)


def check_identity(context: Context, *, now: datetime.datetime | None = None) -> None:
    """Raises UsageError if the context has no credentials, or a client certificate that is not valid
    now: the API server would only answer 401."""
    if not context.user:
        raise UsageError(
            f"context {context.name} has no user with credentials; add a token, a client certificate "
            "or a credential plugin to the kubeconfig"
        )
    pem = _client_certificate(context.user)
    if pem is None:
        return
    who = f"the client certificate of user {context.user_name} (context {context.name})"
    try:
        certificate = x509.load_pem_x509_certificate(pem)
    except ValueError as error:
        raise UsageError(f"{who} cannot be read: {error}") from error
    now = now or datetime.datetime.now(datetime.UTC)
    end, start = certificate.not_valid_after_utc, certificate.not_valid_before_utc
    if now > end:
        raise UsageError(f"{who} expired on {_day(end)}; get a new one and put it there")
    if now < start:
        raise UsageError(f"{who} is valid only from {_day(start)}; is this machine's clock right?")


def first_answer(api: Api, context: Context) -> Mapping[str, Any]:
    """The server's version. Raises UsageError with the reason if it does not give that in seconds."""
    try:
        answer = api.request("GET", "/version", timeout=REACH_SECONDS)
    except NoAnswerError as error:
        raise UsageError(_unreached(context, error)) from error
    except InfraError as error:
        raise UsageError(str(error)) from error
    if answer.code == 401:
        raise UsageError(_unknown_identity(context))
    if answer.code == 403:
        # Some clusters hide even this from most users.
        return {}
    if not answer.ok or not isinstance(answer.body, Mapping) or "gitVersion" not in answer.body:
        said = " ".join((answer.message or str(answer.body)).split())[:120]
        raise UsageError(
            f"{context.server} (context {context.name}) answered /version with {answer.code} "
            f"{said}; expected a Kubernetes API server"
        )
    return answer.body


def _unreached(context: Context, error: NoAnswerError) -> str:
    where = f"the API server {context.server} of context {context.name}"
    causes = _causes(error)
    for cause in causes:
        if isinstance(cause, ssl.SSLCertVerificationError):
            why = _UNTRUSTED.get(cause.verify_code, _UNKNOWN_AUTHORITY)
            return f"{where} is not trusted ({cause.verify_message}): {why}"
    reason = _reason(causes)
    if error.proxy is not None:
        return (
            f"{where} cannot be reached through {error.proxy} ({reason}); correct or unset that, or "
            "name the server in NO_PROXY"
        )
    return f"{where} cannot be reached ({reason}); is it up, and its address right?"


def _causes(error: BaseException) -> list[BaseException]:
    """The error and everything below it; urllib3 keeps some as arguments only."""
    found = [error]
    for one in found:
        below = [one.__cause__, one.__context__, *one.args]
        found += [each for each in below if isinstance(each, BaseException) and each not in found]
    return found


def _reason(causes: list[BaseException]) -> str:
    late = f"no answer within {REACH_SECONDS:g} s"
    # urllib3 calls a refused connection a timeout, too: what the system said counts first.
    for kind, text in (
        (ConnectionRefusedError, "connection refused"),
        (socket.gaierror, "its name cannot be resolved"),
        (TimeoutError, late),
        (urllib3.exceptions.TimeoutError, late),
    ):
        if any(isinstance(cause, kind) for cause in causes):
            return text
    last = causes[-1]
    return " ".join(str(last).split())[:160] or type(last).__name__


def _unknown_identity(context: Context) -> str:
    user, who = context.user, f"user {context.user_name} of context {context.name}"
    token = str(user.get("token") or "")
    end = _expiry(token)
    if user.get("exec"):
        why = "the token of the credential plugin is not accepted; log in again"
    elif end is not None and end < datetime.datetime.now(datetime.UTC):
        why = f"its token expired on {_day(end)}; get a new one"
    elif token or user.get("tokenFile"):
        why = "its token is unknown or has expired; get a new one"
    elif _client_certificate(user) is not None:
        why = "its client certificate is not signed by an authority of that cluster"
    else:
        why = "the kubeconfig holds no credentials for it"
    return f"{context.server} does not know {who} (401): {why}"


def _expiry(token: str) -> datetime.datetime | None:
    """When a token that is a JWT expires; None if it does not say."""
    try:
        _, claims, _ = token.split(".")
        content: Any = json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))
        return datetime.datetime.fromtimestamp(float(content["exp"]), tz=datetime.UTC)
    except (ValueError, TypeError, KeyError, OverflowError):
        return None


def _client_certificate(user: Mapping[str, Any]) -> bytes | None:
    if user.get("client-certificate-data"):
        try:
            return base64.b64decode(str(user["client-certificate-data"]))
        except ValueError:
            return b""
    if user.get("client-certificate"):
        try:
            return Path(str(user["client-certificate"])).read_bytes()
        except OSError as error:
            raise UsageError(
                f"the client certificate {error.filename} of the kubeconfig cannot be read: "
                f"{error.strerror}"
            ) from error
    return None


def _day(when: datetime.datetime) -> str:
    return f"{when:%Y-%m-%d %H:%M} UTC"
