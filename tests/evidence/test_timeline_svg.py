"""The drawn timeline."""

import xml.etree.ElementTree as ET
from importlib import resources

import pytest

from conformance.evidence.lifetimes import MOST_OF_A_KIND, groups
from conformance.evidence.timeline_svg import render
from tests.evidence import sample

_SVG = "{http://www.w3.org/2000/svg}"
_TEXT = f"{_SVG}text"


def _rects(root: ET.Element, kind: str) -> list[ET.Element]:
    return [e for e in root.iter(f"{_SVG}rect") if e.get("class") == kind]


def test_the_violating_object_is_outlined_and_the_doubtful_is_not() -> None:
    history, judgement = sample.leftover()
    findings = [f for result in judgement.results for f in result.findings]
    root = ET.fromstring(render(history, findings))
    accused = [e.text for e in root.iter(_TEXT) if e.get("class") == "accused-text"]
    assert accused == ["Deployment vllm-agg-worker"]


def test_bars_are_grouped_by_graph_and_service() -> None:
    history, _ = sample.good()
    found = groups(history)
    assert [group.title for group in found] == [
        "vllm-agg",
        "vllm-agg · Frontend",
        "vllm-agg · worker",
    ]
    worker = [bar.label for bar in found[2].bars]
    assert worker[:3] == [
        "DCD vllm-agg-worker",
        "Deployment vllm-agg-worker",
        "LeaderWorkerSet vllm-agg-worker-0",
    ]


def test_a_bar_ends_where_its_object_was_deleted() -> None:
    history, _ = sample.good()
    root = ET.fromstring(render(history))
    _frontend, worker = sorted(
        _rects(root, "bar single-node"), key=lambda e: -float(e.get("width") or 0)
    )[:2]
    lws = _rects(root, "bar multinode")[0]
    end = float(worker.get("x") or 0) + float(worker.get("width") or 0)
    assert float(lws.get("x") or 0) < end, "the overlap must be visible"
    assert len(_rects(root, "leaving")) == 1


def test_deadline_is_marked_only_when_it_was_reached() -> None:
    assert "deadline 30 s" in render(sample.leftover()[0])
    assert "deadline 30 s" not in render(sample.good()[0])
    assert "deadline 30 s" not in render(sample.storm())


def test_gaps_are_marked_with_their_reason() -> None:
    assert "<title>gap: Pod, 410 Gone, listed again</title>" in render(sample.storm())


def test_steps_holds_and_the_axis_count_from_the_first_judged_answer() -> None:
    root = ET.fromstring(render(sample.good()[0]))
    texts = {(e.get("class") or "", e.text): float(e.get("x") or 0) for e in root.iter(_TEXT)}
    step = texts["step-text", "add-multinode-2 → 200"]
    zero = texts["muted", "0 s"]
    assert 0 <= step - zero <= 5, "the label stands at the answer"
    held = texts["hold-text", "held"]
    assert held > zero
    (hold,) = [e for e in _rects(root, "hold") if float(e.get("x") or 0) > zero]
    two, four = texts["muted", "2 s"], texts["muted", "4 s"]
    per_second = (four - two) / 2
    assert float(hold.get("width") or 0) == pytest.approx(5 * per_second, abs=1), "a hold of 5 s"


def test_names_from_the_cluster_cannot_inject_markup() -> None:
    h = sample.story(case="<script>alert(1)</script>")
    sample.put(h, 0.0, "Pod", "<b>&", spec={})
    text = render(h.history())
    assert "<script>" not in text
    root = ET.fromstring(text)
    assert not list(root.iter(f"{_SVG}script")) + list(root.iter(f"{_SVG}b"))
    labels = [e.text for e in root.iter(_TEXT)]
    assert labels[0] == "<script>alert(1)</script> · sample"
    assert "Pod <b>&" in labels


def test_many_pods_are_counted_instead_of_drawn() -> None:
    h = sample.story()
    for n in range(MOST_OF_A_KIND + 5):
        sample.put(h, float(n), "Pod", f"p{n}", spec={})
    (group,) = groups(h.history())
    assert (len(group.bars), group.left_out) == (MOST_OF_A_KIND, 5)


def test_a_history_without_events_still_draws_its_title_and_an_axis() -> None:
    root = ET.fromstring(render(sample.story().history()))
    texts = [(e.get("class"), e.text) for e in root.iter(_TEXT)]
    assert texts[0] == ("title", "add-worker[merge-patch-v1alpha1] · sample")
    axis = [text for kind, text in texts if kind == "muted"]
    assert "0 s" in axis
    assert len(list(root.iter(f"{_SVG}line"))) >= len(axis)
    assert [e.get("class") for e in root.iter(f"{_SVG}rect")] == ["paper"], "and nothing else"


def test_the_template_fits_its_budget_and_has_both_looks() -> None:
    text = resources.files("conformance.evidence").joinpath("templates/timeline.svg.j2").read_text()
    assert len(text.splitlines()) <= 200
    assert "prefers-color-scheme: dark" in text
