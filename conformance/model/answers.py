"""What an API server's answer means: accepted, refused by a rule, or failed for another reason.

Only an admission webhook, a ValidatingAdmissionPolicy and the CRD's own schema or CEL rules refuse.
RBAC, conflicts, quota, outages and 5xx answers say nothing about the operator's policy. The texts are
those of k8s.io/apiserver: `admission webhook "NAME" denied the request`, and
`ValidatingAdmissionPolicy 'NAME' with binding 'B' denied request`.
"""

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.model.transition import ChangeKind


class AnswerClass(enum.StrEnum):
    """Kinds of answers. Only `REFUSED` tells of the operator's policy."""

    ACCEPTED = "accepted"
    REFUSED = "refused"
    """4xx by an admission webhook, a ValidatingAdmissionPolicy, or the CRD's schema or CEL."""
    RBAC = "forbidden by RBAC"
    UNAUTHORIZED = "not authenticated"
    QUOTA = "quota exceeded"
    CONFLICT = "conflict"
    TERMINATING = "the namespace is being terminated"
    NOT_FOUND = "not found"
    MALFORMED = "malformed request"
    THROTTLED = "too many requests"
    WEBHOOK_OUTAGE = "a webhook could not be called"
    SERVER_ERROR = "server error"
    NONE = "no answer"
    OTHER = "another error"


class RefusedBy(enum.StrEnum):
    """Kinds of rules that refuse."""

    WEBHOOK = "admission webhook"
    POLICY = "ValidatingAdmissionPolicy"
    SCHEMA = "schema of the CRD"


_WEBHOOK = re.compile(r'admission webhook "([^"]+)" denied the request')
_POLICY = re.compile(r"ValidatingAdmissionPolicy '([^']+)'.*denied request", re.DOTALL)
_OUTAGE = re.compile(
    r"failed calling webhook|failed to call webhook|conversion webhook for .* failed|"
    r"no endpoints available for service",
    re.DOTALL,
)
_STRICT = re.compile(r"strict decoding error|field not declared in schema")
_RBAC = re.compile(r"\bcannot \w+ resource\b|RBAC:")
_FIELD = re.compile(r"\bspec(?:\.[A-Za-z_][\w-]*|\[[^\]]+\])+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An API answer and what it means."""

    kind: AnswerClass
    code: int
    """HTTP status code; 0 if no answer came."""
    reason: str
    message: str
    """The message of the Status object and those of its causes."""
    by: RefusedBy | None = None
    """The kind of rule that refused."""
    rule: str = ""
    """Name of the webhook or policy that refused."""
    fields: tuple[str, ...] = ()
    """Paths below `spec` that the message names."""

    @property
    def accepted(self) -> bool:
        return self.kind is AnswerClass.ACCEPTED

    @property
    def refused(self) -> bool:
        return self.kind is AnswerClass.REFUSED


def understand(code: int, answer: Mapping[str, Any]) -> Answer:
    """The meaning of an HTTP code (0: no answer came) and, on failure, of the Status object."""
    details = answer.get("details") or {}
    causes = [cause for cause in details.get("causes") or () if isinstance(cause, Mapping)]
    message = str(answer.get("message") or "")
    texts = [message, *(str(cause.get("message") or "") for cause in causes)]
    paths = [str(cause.get("field", "")) for cause in causes]
    fields = [path for path in paths if path.startswith("spec")]
    for text in texts:
        fields += _FIELD.findall(text)
    by, rule = _refused_by(code, message)
    return Answer(
        kind=AnswerClass.REFUSED if by else _class(code, message),
        code=code,
        reason=str(answer.get("reason") or ""),
        message="; ".join(dict.fromkeys(text for text in texts if text)),
        by=by,
        rule=rule,
        fields=tuple(dict.fromkeys(fields)),
    )


def _refused_by(code: int, message: str) -> tuple[RefusedBy | None, str]:
    if not 400 <= code < 500:
        return None, ""
    if match := _WEBHOOK.search(message):
        return RefusedBy.WEBHOOK, match.group(1)
    if _OUTAGE.search(message):
        return None, ""
    if match := _POLICY.search(message):
        return RefusedBy.POLICY, match.group(1)
    # Strict field validation is done by the published schema, too; the API server answers it 400.
    if code == 422 or (code == 400 and _STRICT.search(message)):
        return RefusedBy.SCHEMA, ""
    return None, ""


def _class(code: int, message: str) -> AnswerClass:
    if 200 <= code < 300:
        return AnswerClass.ACCEPTED
    if code == 0:
        return AnswerClass.NONE
    if _OUTAGE.search(message):
        return AnswerClass.WEBHOOK_OUTAGE
    if code >= 500:
        return AnswerClass.SERVER_ERROR
    if code == 403:
        return _forbidden(message)
    return _PLAIN.get(code, AnswerClass.OTHER)


_PLAIN = {
    400: AnswerClass.MALFORMED,
    401: AnswerClass.UNAUTHORIZED,
    404: AnswerClass.NOT_FOUND,
    409: AnswerClass.CONFLICT,
    415: AnswerClass.MALFORMED,
    429: AnswerClass.THROTTLED,
}


def _forbidden(message: str) -> AnswerClass:
    if "exceeded quota" in message:
        return AnswerClass.QUOTA
    if "is being terminated" in message:
        return AnswerClass.TERMINATING
    return AnswerClass.RBAC if _RBAC.search(message) else AnswerClass.OTHER


_TOPOLOGY = ("multinode", "nodeCount")
_SERVICES = ("services", "components")
_FIELD_WORDS: dict[ChangeKind, tuple[str, ...]] = {
    ChangeKind.ADD_MULTINODE: _TOPOLOGY,
    ChangeKind.REMOVE_MULTINODE: _TOPOLOGY,
    ChangeKind.CHANGE_NODE_COUNT: _TOPOLOGY,
    ChangeKind.REPLICAS: ("replicas",),
    ChangeKind.IMAGE: ("image", "containers", "mainContainer"),
    ChangeKind.SERVICE_ADDED: _SERVICES,
    ChangeKind.SERVICE_REMOVED: _SERVICES,
    ChangeKind.SERVICE_RENAMED: _SERVICES,
}
"""Kind of change → the fields by which a refusal may name it."""


def names_change(
    answer: Answer,
    *,
    kinds: Iterable[ChangeKind],
    services: Iterable[str],
    words: Iterable[str] = (),
) -> bool:
    """True if a refusal names a service, a field of the change under `spec`, or matches one of the
    profile's `refusal_words`. A change without fields of its own (a deploy, an illegal field) may be
    named by any path below `spec`.
    """
    if any(_has_word(answer.message, service) for service in services):
        return True
    for kind in kinds:
        wanted = _FIELD_WORDS.get(kind)
        for path in answer.fields:
            # A rule of a list's items has the service in its path, and the field in its text.
            texts = (path, answer.message)
            if wanted is None or any(_has_word(t, word) for t in texts for word in wanted):
                return True
    return any(re.search(word, answer.message) for word in words)


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None
