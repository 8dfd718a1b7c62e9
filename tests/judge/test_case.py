"""One reading of a history: what a gap hides, and whose an object is, each with one meaning."""

import pytest

from conformance.history.history import History
from conformance.history.records import Gap
from conformance.judge.case import Case
from conformance.judge.verdict import CHECKERS
from conformance.model.transition import set_image
from conformance.model.verdict import CheckerName, Verdict
from tests.builders import SUITE, HistoryBuilder
from tests.objects import a_graph, find, made, settled

GRAPH = a_graph()


def settled_history() -> HistoryBuilder:
    h = HistoryBuilder()
    h.deployed(GRAPH)
    h.step(set_image("Worker", "vllm:2.0.0"), GRAPH)
    h.become(settled(set_image("Worker", "vllm:2.0.0").apply(GRAPH), generation=2), after=0.5)
    h.checkpoint(set_image("Worker", "vllm:2.0.0").apply(GRAPH))
    return h


def with_gap(h: HistoryBuilder, first: int, last: int) -> Case:
    """Noticed long after the case, so that its revisions alone decide."""
    gap = Gap(at=h.now + 1000, reason="the watch expired", from_revision=first, to_revision=last)
    return Case(History([*h.records, gap]))


@pytest.mark.parametrize(
    ("first", "last", "hidden"),
    [
        (-2, 0, False),  # ends with the last revision before the window: all of it is older
        (-2, 1, True),
        (0, 1, True),
        ("end", "end+3", False),  # begins with the window's last revision: all of it is younger
        ("end-1", "end+3", True),
    ],
)
def test_a_gap_hides_what_came_after_its_first_revision_until_its_last(
    first: int | str, last: int | str, hidden: bool
) -> None:
    h = settled_history()
    window = Case(h.history()).judged[-1].way
    places = {
        "end": window.until_revision, "end-1": window.until_revision - 1,
        "end+3": window.until_revision + 3,
    }  # fmt: skip
    low, high = (
        places[bound] if isinstance(bound, str) else window.after_revision + bound
        for bound in (first, last)
    )
    case = with_gap(h, low, high)
    assert (case.gap_in(case.judged[-1].way) is not None) is hidden
    # A checker of states and one of writes mean the same by it.
    for name in (CheckerName.SIZE, CheckerName.AVAILABILITY):
        findings = CHECKERS[name](case).findings
        doubts = [f for f in findings if f.gates and f.last_at == case.judged[-1].at]
        assert {f.verdict for f in doubts} == ({Verdict.UNKNOWN} if hidden else set()), name


def test_what_the_suite_made_beside_a_graph_is_not_compared_with_what_the_user_wrote() -> None:
    """Not a foreign object, but none of the operator's either: every checker that reads a state leaves
    it out, `fidelity` included."""
    h = HistoryBuilder()
    h.deployed(GRAPH)
    labels = find(settled(GRAPH), "Deployment", "agg-worker")["metadata"]["labels"]
    helper = made(
        "Deployment", "helper", labels=labels, spec={"replicas": 1, "template": {"spec": {
            "containers": [{"name": "main", "image": "busybox"}]}}},
    )  # fmt: skip
    h.create(helper, by=SUITE)
    change = set_image("Worker", "vllm:2.0.0")
    h.step(change, GRAPH)
    after = change.apply(GRAPH)
    h.become([*settled(after, generation=2), helper], after=0.5)
    h.checkpoint(after)
    case = Case(h.history())
    assert "Deployment/helper" in case.others
    assert "Deployment/helper" not in case.foreign
    for name in (CheckerName.COEXISTENCE, CheckerName.SIZE, CheckerName.FIDELITY):
        gating = [finding.message for finding in CHECKERS[name](case).findings if finding.gates]
        assert gating == [], name


def test_a_case_works_out_once_what_its_checkers_share() -> None:
    case = Case(settled_history().history())
    calls: list[Case] = []

    def work(one: Case) -> int:
        calls.append(one)
        return len(calls)

    assert [case.worked_out("key", work), case.worked_out("key", work)] == [1, 1]
    assert case.log is case.log
    assert case.judged[-1].snapshot is case.points[-1].snapshot
