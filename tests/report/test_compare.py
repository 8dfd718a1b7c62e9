"""What `report compare` calls a difference."""

from conformance.model.bounds import Bounds
from conformance.model.verdict import CheckerName, Verdict
from conformance.report.build import RunFacts, report
from conformance.report.compare import differences
from conformance.report.model import CaseResult, ConformanceReport, ReportedFinding
from tests.report.test_report_model import PROFILE, case


def made(verdict: Verdict, *found: Verdict) -> ConformanceReport:
    findings = [
        ReportedFinding(checker=CheckerName.QUIESCENCE, verdict=one, subject="s", message="m")
        for one in found
    ]
    result: CaseResult = case(verdict, findings=findings)
    return report([result], RunFacts(profile=PROFILE, bounds=Bounds()))


def test_what_is_merely_reported_is_no_difference() -> None:
    assert differences(made(Verdict.CONFORMS), made(Verdict.CONFORMS, Verdict.CONFORMS)) == []


def test_a_finding_of_one_alone_is_a_difference() -> None:
    found = differences(made(Verdict.VIOLATES), made(Verdict.VIOLATES, Verdict.VIOLATES))
    assert any("quiescence (violates)" in sentence for sentence in found)
