"""The story in lines."""

from conformance.evidence.changes import changed
from conformance.evidence.excerpt import excerpt_of, offset
from conformance.evidence.timeline import describe_step, entries, render, request_of
from conformance.model.state import Obj
from conformance.model.verdict import CheckerName, Finding, Verdict
from tests.evidence import sample


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines()]


def test_times_count_from_the_answer_and_name_the_writer() -> None:
    history, _ = sample.leftover()
    lines = _lines(render(history, excerpt_of(history)))
    assert lines[0].startswith(
        "+0.00 s suite DGD vllm-agg: add-multinode-2 by merge-patch (v1alpha1), "
    )
    assert "+0.20 s operator PodGroup vllm-agg-worker-0 created (minMember 2)" in lines
    assert "+0.35 s LWS controller StatefulSet vllm-agg-worker-0 created (replicas 1)" in lines
    assert "+1.00 s Kubernetes Pod vllm-agg-worker-0 Ready" in lines
    assert lines[-2:] == [
        "+30.00 s ── deadline (30 s)",
        "+30.50 s ── checkpoint: the deadline passed",
    ]


def test_a_deletion_shows_when_it_was_asked_for_and_when_it_was_done() -> None:
    history, _ = sample.good()
    lines = _lines(render(history, excerpt_of(history)))
    assert any(
        "Deployment vllm-agg-worker deletion requested, waiting for" in line for line in lines
    )
    assert any(line.endswith("Deployment vllm-agg-worker deleted") for line in lines)
    assert "+1.60 s ── the state matches from here on" in lines
    assert not any("deadline" in line for line in lines)


def test_a_storm_is_one_line_with_a_count() -> None:
    history = sample.storm()
    found = [entry for entry in entries(history, excerpt_of(history)) if "tick" in entry.text]
    assert [entry.text for entry in found] == [
        "Deployment vllm-agg-worker labels changed: tick (40 times within 2.0 s)"
    ]


def test_gaps_and_the_operators_end_are_in_the_story() -> None:
    history = sample.storm()
    text = render(history, excerpt_of(history))
    assert "gap: Pod may have changed unseen (410 Gone, listed again)" in text
    assert "exited: exit code 2" in text
    assert "operator        panic: runtime error" in text


def test_a_limit_leaves_out_the_middle_and_counts_it() -> None:
    history, _ = sample.leftover()
    whole = render(history, excerpt_of(history)).splitlines()
    short = render(history, excerpt_of(history), limit=6).splitlines()
    assert short[:4] == whole[:4]
    assert short[-2:] == whole[-2:]
    assert f"{len(whole) - 6} lines left out" in short[4]


def test_a_request_is_told_by_its_method_and_version() -> None:
    h = sample.story()
    post = {"verb": "POST", "contentType": "application/json", "body": {}}
    made = sample.step(h, 0.0, "deploy", door="merge-patch-v1beta1", request=post, code=201)
    edited = sample.step(h, 1.0, "edit", door="component-json-patch-v1alpha1")
    assert [request_of(step) for step in (made, edited)] == [
        "create (v1beta1)", "json-patch (v1alpha1)",
    ]  # fmt: skip
    refused = {"message": "multinode cannot be added"}
    rejected = sample.step(h, 2.0, "again", code=422, answer=refused)
    assert describe_step(rejected) == (
        "DGD vllm-agg: again by merge-patch (v1alpha1), answered 422: multinode cannot be added"
    )


def test_no_time_is_a_negative_zero() -> None:
    assert offset(-0.001).strip() == "+0.00 s"
    assert offset(-1.5).strip() == "-1.50 s"


def test_a_finding_leads_to_the_checkpoint_of_its_step() -> None:
    history, _ = sample.leftover()
    finding = Finding(
        checker=CheckerName.SIZE,
        verdict=Verdict.VIOLATES,
        subject="Deployment/x",
        message="",
        step="deploy",
    )
    excerpt = excerpt_of(history, finding)
    assert excerpt.checkpoint is not None
    assert excerpt.checkpoint.name == "deploy"
    assert len(excerpt.before) == 0


def test_scaling_and_size_are_called_so() -> None:
    def lws(replicas: int, size: int) -> Obj:
        spec = {"replicas": replicas, "leaderWorkerTemplate": {"size": size}}
        return Obj({"kind": "LeaderWorkerSet", "metadata": {"name": "x"}, "spec": spec})

    assert changed(lws(1, 2), lws(3, 4)) == ["scaled 1→3", "size 2→4"]


def test_a_write_that_changes_nothing_has_no_line() -> None:
    pod = Obj({"kind": "Deployment", "metadata": {"name": "x"}, "spec": {"replicas": 1}})
    assert changed(pod, pod) == []


def test_lost_owner_and_finalizers_have_a_phrase() -> None:
    owner = {"kind": "DCD", "name": "d", "uid": "u"}
    old = Obj({"kind": "Service", "metadata": {"ownerReferences": [owner], "finalizers": ["f"]}})
    assert changed(old, Obj({"kind": "Service", "metadata": {}})) == [
        "finalizers now none",
        "now without an owner",
    ]
