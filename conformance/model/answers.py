"""What an API server's answer means: accepted, refused by a rule, or failed for another reason.

Only an admission webhook, a ValidatingAdmissionPolicy and the CRD's own schema or CEL rules refuse.
RBAC, conflicts, quota, outages and 5xx answers are other classes: they say nothing about the
operator's policy. The texts are those of k8s.io/apiserver: the webhook plugin writes `admission
webhook "NAME" denied the request`, the policy plugin `ValidatingAdmissionPolicy 'NAME' with binding
'B' denied request`.
"""

from __future__ import annotations

import enum
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from conformance.model.transition import ChangeKind


class AnswerClass(enum.StrEnum):
    """What an answer is. Only `REFUSED` tells about the operator's policy."""

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
    """Which kind of rule refused."""

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
    """An API answer, understood.

    `by` says which kind of rule refused (None if none did) and `rule` the name of the webhook or
    policy; `message` has the Status message and its causes; `fields` are the paths below `spec` in
    them.
    """

    kind: AnswerClass
    code: int
    reason: str
    message: str
    by: RefusedBy | None = None
    rule: str = ""
    fields: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """True for a 2xx answer."""
        return self.kind is AnswerClass.ACCEPTED

    @property
    def refused(self) -> bool:
        """True if a rule about the object said no."""
        return self.kind is AnswerClass.REFUSED


def classify(code: int, answer: Mapping[str, Any]) -> AnswerClass:
    """The class of an answer; see `understand`, which says more."""
    return understand(code, answer).kind


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
    # Strict field validation is the published schema's word, too; the API server answers it 400.
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


# The field words by which a refusal may name what it refused, per kind of change.
FIELD_WORDS: dict[ChangeKind, tuple[str, ...]] = {
    ChangeKind.ADD_MULTINODE: ("multinode", "nodeCount"),
    ChangeKind.REMOVE_MULTINODE: ("multinode", "nodeCount"),
    ChangeKind.CHANGE_NODE_COUNT: ("multinode", "nodeCount"),
    ChangeKind.REPLICAS: ("replicas",),
    ChangeKind.IMAGE: ("image", "containers", "mainContainer"),
    ChangeKind.SERVICE_ADDED: ("services", "components"),
    ChangeKind.SERVICE_REMOVED: ("services", "components"),
    ChangeKind.SERVICE_RENAMED: ("services", "components"),
}


def names_change(
    answer: Answer,
    *,
    kinds: Iterable[ChangeKind],
    services: Iterable[str],
    words: Iterable[str] = (),
) -> bool:
    """True if a refusal says what it refuses: a service by name, a field of the change under
    `spec`, or one of the profile's regular expressions (`refusal_words`).

    A change without field words of its own (a deploy, an illegal field) may be named by any path
    below `spec`.
    """
    if any(_has_word(answer.message, service) for service in services):
        return True
    for kind in kinds:
        wanted = FIELD_WORDS.get(kind)
        for path in answer.fields:
            # A rule of a list's items has the service in its path, and the field in its text.
            texts = (path, answer.message)
            if wanted is None or any(_has_word(t, word) for t in texts for word in wanted):
                return True
    return any(re.search(word, answer.message) for word in words)


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])", text) is not None
