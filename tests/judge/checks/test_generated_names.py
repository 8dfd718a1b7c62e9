"""Children whose names the API server ends are compared without those ends."""

import json

import pytest

from conformance.judge.case import Case
from conformance.judge.checks.equivalence import check
from conformance.judge.compare.canonical import stem
from conformance.model.state import Obj
from conformance.model.transition import add_multinode
from conformance.model.verdict import Verdict
from tests.builders import NAMESPACE, HistoryBuilder, Raw, a_graph, find, made, settled, without
from tests.judge.checks.reading import gating, only

SINGLE, MULTI = a_graph(), a_graph(node_count=2)


def ending(objects: list[Raw], end: str) -> list[Raw]:
    """The worker's children (and what they name) with a generated end."""
    text = json.dumps(objects).replace("agg-worker", f"agg-worker-{end}")
    found: list[Raw] = json.loads(text)
    return found


def compared(objects: list[Raw], fresh: list[Raw]) -> HistoryBuilder:
    h = HistoryBuilder()
    h.deployed(SINGLE)
    h.step(add_multinode("Worker"), SINGLE)
    h.become(objects, after=0.5)
    h.checkpoint(MULTI)
    h.fresh(MULTI, json.loads(json.dumps(fresh).replace(NAMESPACE, "fresh")))
    return h


@pytest.mark.parametrize("ends", [("x7k2p", "qvvpb"), ("6d4b75cb6d", "5c689d88bb")])
def test_other_ends_make_no_difference(ends: tuple[str, str]) -> None:
    ours, theirs = ending(settled(MULTI, generation=2), ends[0]), ending(settled(MULTI), ends[1])
    assert gating(check(Case(compared(ours, theirs).history()))) == []


def test_an_object_more_is_seen_behind_any_end() -> None:
    ours = ending(settled(MULTI, generation=2), "x7k2p")
    fresh = ending(settled(MULTI), "qvvpb")
    missing = without(fresh, find(fresh, "PodGroup", "agg-worker-qvvpb-0"))
    finding = only(check(Case(compared(ours, missing).history())), Verdict.VIOLATES)
    assert finding.message.startswith("There is 1 PodGroup where a fresh deploy")


def test_another_field_is_seen_behind_any_end() -> None:
    ours = ending(settled(MULTI, generation=2), "x7k2p")
    find(ours, "PodGroup", "agg-worker-x7k2p-0")["spec"]["minMember"] = 1
    fresh = ending(settled(MULTI), "qvvpb")
    finding = only(check(Case(compared(ours, fresh).history())), Verdict.VIOLATES)
    assert "spec.minMember" in finding.message


@pytest.mark.parametrize(
    ("name", "left"),
    [
        ("agg-worker-x7k2p", "agg-worker"),
        ("agg-worker-x7k2p-0", "agg-worker-0"),
        ("agg-worker-x7k2p-0-1", "agg-worker-0-1"),
        ("agg-worker", "agg-worker"),
        ("agg-frontend", "agg-frontend"),
        ("agg-vllm-0", "agg-vllm-0"),
        ("agg-proxy", "agg-proxy"),
    ],
)
def test_words_and_indices_are_no_generated_ends(name: str, left: str) -> None:
    assert stem(Obj(made("Service", name))) == left
