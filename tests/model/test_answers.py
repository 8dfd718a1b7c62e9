"""API answers: only webhooks, policies and schemas refuse; the rest says nothing of policy."""

from typing import Any

import pytest

from conformance.model.answers import AnswerClass, RefusedBy, names_change, understand
from conformance.model.transition import ChangeKind

WEBHOOK = 'admission webhook "vdynamographdeployment.kb.io" denied the request: '


def status(
    message: str, *, reason: str = "", causes: list[dict[str, str]] | None = None
) -> dict[str, Any]:
    return {"status": "Failure", "message": message, "reason": reason,
            "details": {"causes": causes or []}}  # fmt: skip


@pytest.mark.parametrize("code", [400, 403, 422])
def test_webhook_denial_is_a_refusal_with_any_client_error_code(code: int) -> None:
    answer = understand(code, status(WEBHOOK + "spec.services[w] cannot change node topology"))
    assert answer.refused
    assert answer.by is RefusedBy.WEBHOOK
    assert answer.rule == "vdynamographdeployment.kb.io"
    assert answer.fields == ("spec.services[w]",)


def test_webhook_denial_with_a_server_error_code_is_no_refusal() -> None:
    assert understand(500, status(WEBHOOK + "oops")).kind is AnswerClass.SERVER_ERROR


def test_policy_denial_is_a_refusal() -> None:
    text = (
        'dynamographdeployments.nvidia.com "g" is forbidden: ValidatingAdmissionPolicy '
        "'topology' "
        "with binding 'all' denied request: multinode is fixed"
    )
    answer = understand(422, status(text, reason="Invalid"))
    assert (answer.by, answer.rule) == (RefusedBy.POLICY, "topology")


def test_schema_refusal_names_its_fields_by_cause() -> None:
    causes = [
        {"field": "spec.components[1].multinode.nodeCount", "message": "should be at least 2"}
    ]
    answer = understand(422, status('"g" is invalid', reason="Invalid", causes=causes))
    assert answer.by is RefusedBy.SCHEMA
    assert names_change(answer, kinds=[ChangeKind.CHANGE_NODE_COUNT], services=[])


def test_strict_decoding_error_is_the_schemas_word() -> None:
    answer = understand(400, status('strict decoding error: unknown field "spec.services.w.bogus"'))
    assert answer.by is RefusedBy.SCHEMA


@pytest.mark.parametrize(
    ("code", "message", "expected"),
    [
        (200, "", AnswerClass.ACCEPTED),
        (201, "", AnswerClass.ACCEPTED),
        (0, "", AnswerClass.NONE),
        (403, 'dgds is forbidden: User "u" cannot patch resource "dgds"', AnswerClass.RBAC),
        (403, "pods is forbidden: exceeded quota: q", AnswerClass.QUOTA),
        (
            403,
            "unable to create: namespace x because it is being terminated",
            AnswerClass.TERMINATING,
        ),
        (403, "for no stated reason", AnswerClass.OTHER),
        (409, "the object has been modified", AnswerClass.CONFLICT),
        (404, "not found", AnswerClass.NOT_FOUND),
        (400, "cannot parse", AnswerClass.MALFORMED),
        (401, "Unauthorized", AnswerClass.UNAUTHORIZED),
        (429, "slow down", AnswerClass.THROTTLED),
        (500, 'failed calling webhook "v.io": connection refused', AnswerClass.WEBHOOK_OUTAGE),
        (500, "conversion webhook for x failed: EOF", AnswerClass.WEBHOOK_OUTAGE),
        (503, "etcd is away", AnswerClass.SERVER_ERROR),
    ],
)
def test_other_answers_are_no_refusals(code: int, message: str, expected: AnswerClass) -> None:
    answer = understand(code, status(message))
    assert answer.kind is expected
    assert answer.by is None
    assert not answer.refused


def test_refusal_names_the_service_only_as_a_whole_word() -> None:
    answer = understand(403, status(WEBHOOK + "service workers may not change"))
    assert not names_change(answer, kinds=[ChangeKind.ADD_MULTINODE], services=["worker"])
    assert names_change(answer, kinds=[ChangeKind.ADD_MULTINODE], services=["workers"])


def test_refusal_of_another_field_does_not_name_the_change() -> None:
    answer = understand(403, status(WEBHOOK + "spec.backendFramework: Invalid value"))
    assert not names_change(answer, kinds=[ChangeKind.ADD_MULTINODE], services=["Worker"])
    assert names_change(answer, kinds=[ChangeKind.ILLEGAL], services=["Worker"])


def test_refusal_in_the_profiles_own_words_names_the_change() -> None:
    answer = understand(403, status(WEBHOOK + "cannot change node topology"))
    kinds = [ChangeKind.ADD_MULTINODE]
    assert not names_change(answer, kinds=kinds, services=[])
    assert names_change(answer, kinds=kinds, services=[], words=["node topolog(y|ies)"])
