"""One sentence first, evidence after."""

import dataclasses

from syrupy.assertion import SnapshotAssertion

from conformance.evidence.explain import explain
from conformance.history.history import History
from conformance.judge.verdict import Judgement
from conformance.model.verdict import Verdict
from tests.evidence import sample


def test_the_whole_text_of_a_leftover(snapshot: SnapshotAssertion) -> None:
    history, judgement = sample.leftover()
    text = explain(history, judgement, history_path="results/histories/add-worker.jsonl.zst").text
    assert text == snapshot


def test_the_violation_comes_before_the_unknown() -> None:
    explanation = explain(*sample.leftover())
    assert explanation.sentence.startswith(
        "service worker: Deployment vllm-agg-worker still exists"
    )
    assert [f.verdict for f in explanation.findings] == [Verdict.VIOLATES, Verdict.UNKNOWN]


def test_what_is_not_known_comes_before_what_is() -> None:
    history, judgement = sample.leftover()
    known = {"case": "*", "checker": "coexistence", "link": "https://example.org/1"}
    profile = {**history.header.profile, "known_failures": [known]}
    header = dataclasses.replace(history.header, profile=profile)
    explanation = explain(History([header, *history.records[1:]]), judgement)
    assert explanation.sentence.startswith("DGD vllm-agg has no observedGeneration")


def test_a_reported_fact_is_no_reason() -> None:
    explanation = explain(*sample.leftover())
    assert "never without a ready pod" not in explanation.text


def test_a_conforming_case_says_how_it_ended() -> None:
    explanation = explain(*sample.good())
    assert explanation.sentence == (
        "add-worker[replace-v1alpha1] conforms: add-multinode-2 reconciled, held for 5 s"
    )


def test_a_judgement_of_nothing_proves_nothing() -> None:
    history = sample.story().history()
    nothing = Judgement(verdict=Verdict.UNKNOWN, results=(), outcomes={})
    assert "nothing is proven" in explain(history, nothing).sentence


def test_the_script_is_not_indented_so_that_it_can_be_pasted() -> None:
    text = explain(*sample.leftover()).text
    assert "\nEOF\n" in text
