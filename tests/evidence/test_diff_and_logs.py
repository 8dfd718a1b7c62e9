"""Diffs of objects, and the operator's log."""

from typing import Any

from conformance.evidence import diff, timeline
from conformance.evidence.excerpt import excerpt_of
from conformance.model.state import Obj
from tests.evidence import sample


def test_what_the_server_sets_is_hidden() -> None:
    raw: dict[str, Any] = {
        "kind": "Deployment",
        "metadata": {
            "name": "x",
            "uid": "1",
            "resourceVersion": "7",
            "managedFields": [{}],
            "ownerReferences": [{"kind": "DCD", "name": "d", "uid": "2"}],
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{}"},
        },
        "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": "t"}]},
    }
    assert diff.trimmed(Obj(raw)) == {
        "kind": "Deployment",
        "metadata": {"name": "x", "ownerReferences": [{"kind": "DCD", "name": "d"}]},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    assert raw["metadata"]["uid"] == "1", "the history itself must not change"


def test_only_the_services_concerned_are_compared() -> None:
    history, _ = sample.good()
    text = diff.render(history, excerpt_of(history))
    assert "--- before/Deployment/vllm-agg-worker\n+++ /dev/null" in text
    assert "--- /dev/null\n+++ after/LeaderWorkerSet/vllm-agg-worker-0" in text
    assert "frontend" not in text.replace("componentType: frontend", "").lower()


def test_a_step_without_services_compares_everything() -> None:
    h = sample.story()
    made = sample.put(h, -1.0, "Deployment", "a", spec={"replicas": 1}, labels={"x": "y"})
    sample.step(h, 0.0, "s", services=())
    sample.edit(h, 0.5, made, spec={"replicas": 2})
    h.checkpoint(sample.MULTINODE)
    text = diff.render(h.history(), excerpt_of(h.history()))
    assert "-  replicas: 1\n+  replicas: 2" in text


def test_an_object_made_again_under_its_name_is_two_objects() -> None:
    h = sample.story()
    made = sample.put(h, -1.0, "Service", "a", spec={"selector": {"x": "1"}})
    sample.step(h, 0.0, "s", services=())
    sample.drop(h, 0.1, made)
    sample.put(h, 0.2, "Service", "a", uid="another", spec={"selector": {"x": "1"}})
    h.checkpoint(sample.MULTINODE)
    text = diff.render(h.history(), excerpt_of(h.history()))
    assert "--- before/Service/a\n+++ /dev/null" in text
    assert "--- /dev/null\n+++ after/Service/a" in text


def test_an_accused_object_that_never_changed_is_named() -> None:
    history, judgement = sample.leftover()
    findings = [f for result in judgement.results for f in result.findings]
    text = diff.render(history, excerpt_of(history), findings)
    assert "= Deployment/vllm-agg-worker: the same object, unchanged" in text


def test_a_long_diff_says_how_much_is_left_out() -> None:
    history, _ = sample.good()
    whole = diff.render(history, excerpt_of(history)).splitlines()
    short = diff.render(history, excerpt_of(history), limit=5).splitlines()
    assert short[-1] == f"… {len(whole) - 5} more lines"


def test_log_lines_of_the_window_carry_relative_times() -> None:
    h = sample.story()
    sample.log(h, -5.0, "long before")
    sample.step(h, 0.0, "s")
    for n in range(4):
        sample.log(h, 0.1 * n, f"line {n}")
    h.checkpoint(sample.MULTINODE)
    history = h.history()
    text = timeline.log(history, excerpt_of(history))
    assert "long before" not in text
    assert text.splitlines()[-1] == "   +0.30 s  line 3"
    assert timeline.log(history, excerpt_of(history), limit=1).splitlines() == [
        "           … 3 earlier lines",
        "   +0.30 s  line 3",
    ]
