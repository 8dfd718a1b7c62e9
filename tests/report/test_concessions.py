"""What a profile concedes is listed with the verdict, wherever the verdict is shown."""

from typing import Any

import pytest

from conformance.model.bounds import Bounds
from conformance.model.profile import Profile
from conformance.model.promises import Promises
from conformance.operator import profiles
from conformance.report import compare, markdown, terminal
from conformance.report.build import RunFacts, report
from conformance.report.concessions import concessions, counted, environment, line
from conformance.report.model import ConcessionKind, ConformanceReport
from tests.report.test_report_model import case

FIRM = dict.fromkeys(Promises.model_fields, "reconcile")
EVERYTHING: dict[str, Any] = {
    "versions": ["v1alpha1", "v1beta1"],
    "features": ["multinode", "component", "bare-component", "admission", "restart"],
    "promises": FIRM,
}
SHA = "ab" * 32


def profile(**fields: Any) -> Profile:
    return Profile.model_validate(
        {"identity": {"name": "mine"}, "install": {"command": ["run"]}, **EVERYTHING, **fields}
    )


def made(**fields: Any) -> ConformanceReport:
    facts = RunFacts(profile=profile(**fields), bounds=Bounds(), profile_sha256=SHA)
    return report([case(operator="mine", duration=1.0)], facts)


def test_a_profile_that_promises_everything_concedes_nothing() -> None:
    assert concessions(profile()) == []
    assert line(made()) == "the profile (sha256 abababababab…) concedes nothing"


@pytest.mark.parametrize(
    ("fields", "kind", "text"),
    [
        ({"retained": [{"kind": "Secret", "name": "ssh-*", "reason": "shared"}]},
         "retained-object", "Secret ssh-* (shared)"),
        ({"masks": [{"kind": "Service", "path": "spec.ports*", "reason": "r"}]},
         "mask", "Service spec.ports* (r)"),
        ({"fidelity_exceptions": [{"field": "args", "shape": "multinode", "reason": "r"}]},
         "fidelity-exception", "args (multinode) (r)"),
        ({"services": [{"use": "component", "name": "{component}"},
                       {"use": "debug", "name": "{component}-d", "reason": "r"}]},
         "service-rule", "debug {component}-d (r)"),
        ({"rollouts": [{"path": ["status", "phase"], "values": ["Rolling"]}]},
         "rollout", "status.phase is Rolling, for 60 s"),
        ({"refusal_words": ["topology is frozen"]}, "refusal-word", "topology is frozen"),
        ({"labels": {"reserved": ["nvidia.com/", "acme.io/"]}}, "reserved-label", "acme.io/"),
        ({"status": {"ready_condition": "Up"}}, "status", "condition Up is read for Ready"),
        ({"status": {"service_maps": ["services"], "reason": "r"}},
         "status", "status.components is not read (r)"),
        ({"promises": {**FIRM, "component": "either"}}, "either-promise", "component"),
        ({"features": ["component", "bare-component", "admission", "restart"]},
         "undeclared-feature", "multinode"),
        ({"features": ["multinode", "component", "admission", "restart"],
          "without": [{"feature": "bare-component", "reason": "no account"}]},
         "undeclared-feature", "bare-component (no account)"),
        ({"versions": ["v1beta1"]}, "undeclared-feature", "v1alpha1 (the API does not have it)"),
        ({"known_failures": [{"case": "add/*", "checker": "size", "link": "https://e.org/1"}]},
         "known-failure", "size of * in add/* (https://e.org/1)"),
    ],
)  # fmt: skip
def test_each_concession_is_told_with_its_reason(
    fields: dict[str, Any], kind: str, text: str
) -> None:
    assert [(one.kind, str(one)) for one in concessions(profile(**fields))] == [(kind, text)]


def test_every_kind_of_concession_is_tried_above() -> None:
    mark = next(
        mark
        for mark in test_each_concession_is_told_with_its_reason.pytestmark  # type: ignore[attr-defined]
        if mark.name == "parametrize"
    )
    assert {row[1] for row in mark.args[1]} == set(ConcessionKind)


KEPT = {
    "retained": [
        {"kind": "Secret", "name": "ssh", "reason": "one | for all"},
        {"kind": "Secret", "name": "tls", "reason": "r"},
    ],
    "promises": {**FIRM, "component": "either"},
}


def test_the_terminal_counts_them_in_one_line() -> None:
    text = terminal.summary(made(**KEPT), results="results")
    told = "the profile (sha256 abababababab…) concedes 2 retained objects, 1 either promise"
    assert text.splitlines().count(told) == 1


def test_the_markdown_lists_them_all() -> None:
    text = markdown.summary(made(**KEPT), results="results")
    assert "concedes 2 retained objects, 1 either promise</summary>" in text
    assert "| retained object | Secret ssh | one \\| for all |" in text
    assert "| either promise | component |  |" in text


def test_the_environment_of_allure_holds_them_all() -> None:
    assert environment(made(**KEPT)) == {
        "profile.sha256": SHA,
        "concessions.retained-object": "Secret ssh (one | for all); Secret tls (r)",
        "concessions.either-promise": "component",
    }


def test_two_reports_differ_in_what_was_conceded() -> None:
    assert compare.differences(made(**KEPT), made()) == [
        "only the first concedes the retained object Secret ssh",
        "only the first concedes the retained object Secret tls",
        "only the first concedes the either promise component",
    ]
    assert compare.differences(made(**KEPT), made(**KEPT)) == []


def test_an_old_report_says_nothing_of_its_profile() -> None:
    old = made().model_copy(update={"profile_sha256": ""})
    assert line(old) == ""
    assert "concede" not in terminal.summary(old, results="r") + markdown.summary(old, results="r")


def test_the_good_reference_concedes_nothing() -> None:
    for name in ("reference", "reference-refusing"):
        assert counted(concessions(profiles.load(name).profile)) == ""
