"""The verdict on a history that is made by hand."""

from conformance.history.records import OperatorEventKind
from conformance.judge.verdict import judge
from conformance.model.verdict import Verdict
from tests.builders import HistoryBuilder


def verdict(h: HistoryBuilder) -> Verdict:
    """Of all checkers together; what gates is printed, for a test that fails."""
    h.operator(OperatorEventKind.READY)
    found = judge(h.history())
    print([f"{f.checker} {f.verdict}: {f.message}" for f in found.findings if f.gates])
    return found.verdict
