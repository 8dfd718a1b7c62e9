"""The report on disk, its schema, and its verification."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from conformance import __version__, paths
from conformance.history import store
from conformance.history.history import History
from conformance.model.bounds import Bounds
from conformance.model.errors import InfraError, UsageError
from conformance.model.verdict import Verdict
from conformance.report import documents, files, verify
from conformance.report.build import RunFacts, case_result, report
from conformance.report.model import CaseResult, Concession, ConcessionKind, Summary
from tests.evidence import sample
from tests.report.test_report_model import PROFILE

FACTS = RunFacts(profile=PROFILE, bounds=Bounds(), versions={"suite": "0.1.0"})


def _stored(results: Path) -> CaseResult:
    history, judgement = sample.good()
    path = files.history_path(results, history.header.case, "sample")
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"a stored history")
    kept = files.history_file(path, results=results)
    return case_result(history, judgement, duration=6.6, history_file=kept).model_copy(
        update={"unexpected_passes": []}
    )


def test_yaml_and_json_hold_the_same_document(tmp_path: Path) -> None:
    made = report([_stored(tmp_path)], FACTS)
    (as_json,) = files.write({"sample": made}, tmp_path)
    as_yaml = as_json.with_suffix(".yaml")
    assert yaml.safe_load(as_yaml.read_text()) == json.loads(as_json.read_text())
    assert files.read(as_yaml) == files.read(as_json) == made


def test_an_honest_report_verifies(tmp_path: Path) -> None:
    made = report([_stored(tmp_path)], FACTS)
    assert made.verdict is Summary.CONFORMS
    assert verify.problems(made, tmp_path) == []


def test_each_lie_in_a_report_is_found(tmp_path: Path) -> None:
    made = report([_stored(tmp_path)], FACTS)
    violated = made.cases[0].model_copy(update={"verdict": Verdict.VIOLATES})
    lies: dict[str, dict[str, Any]] = {
        "statistics.conforms": {"statistics": made.statistics.model_copy(update={"conforms": 7})},
        "verdict says": {"cases": [violated]},
        "is listed 2 times": {"cases": made.cases * 2},
        "deviations hides it": {"bounds": {**made.bounds, "hold": 0.1}},
        "names no history": {"cases": [made.cases[0].model_copy(update={"history": None})]},
    }
    for words, update in lies.items():
        problems = verify.problems(made.model_copy(update=update), tmp_path)
        assert any(words in problem for problem in problems), (words, problems)


def test_a_changed_or_missing_history_is_found(tmp_path: Path) -> None:
    made = report([_stored(tmp_path)], FACTS)
    assert made.cases[0].history is not None
    path = tmp_path / made.cases[0].history.path
    path.write_bytes(b"another history")
    assert "has sha256" in verify.problems(made, tmp_path)[0]
    path.unlink()
    assert "cannot be read" in verify.problems(made, tmp_path)[0]


def test_a_report_that_hides_what_its_profile_concedes_is_found(tmp_path: Path) -> None:
    history, judgement = sample.good()
    path = files.history_path(tmp_path, history.header.case, "sample")
    store.write(path, history)
    kept = files.history_file(path, results=tmp_path)
    result = case_result(history, judgement, duration=1.0, history_file=kept)
    facts = RunFacts(profile=history.profile, bounds=Bounds(), versions={"suite": __version__})
    made = report([result], facts)
    assert made.concessions
    assert verify.problems(made, tmp_path) == []
    first = made.concessions[0]
    hidden = made.model_copy(update={"concessions": made.concessions[1:]})
    assert verify.problems(hidden, tmp_path) == [
        f"concessions lacks the {first.kind.noun} {first.what}, with which case {result.id} was judged"
    ]
    more = Concession(kind=ConcessionKind.MASK, what="metadata.labels.*", reason="mine")
    added = made.model_copy(update={"concessions": [*made.concessions, more]})
    assert "lists the mask metadata.labels.*" in verify.problems(added, tmp_path)[0]


def test_histories_of_two_profiles_are_not_of_one_run(tmp_path: Path) -> None:
    results = []
    for name, title in (("a", ""), ("b", "another")):
        history, judgement = sample.good()
        profile = {**history.header.profile}
        profile["identity"] = {**profile["identity"], "title": title}
        header = dataclasses.replace(history.header, case=name, profile=profile)
        path = files.history_path(tmp_path, name, "sample")
        store.write(path, History([header, *history.records[1:]]))
        kept = files.history_file(path, results=tmp_path)
        result = case_result(history, judgement, duration=1.0, history_file=kept)
        results.append(result.model_copy(update={"id": name}))
    facts = RunFacts(profile=history.profile, bounds=Bounds(), versions={"suite": __version__})
    problems = verify.problems(report(results, facts), tmp_path)
    assert problems == ["cases a and b were judged with different profiles"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("{", "is neither JSON nor YAML"),
        ('{"kind": "Other"}', "expected a ConformanceReport"),
        ('{"kind": "ConformanceReport", "extra": 1}', "expected a ConformanceReport"),
    ],
)
def test_a_file_that_is_no_report_is_a_users_mistake(text: str, words: str, tmp_path: Path) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(UsageError, match=words):
        files.read(path)


@pytest.mark.parametrize("name", documents.SCHEMAS)
def test_the_published_schemas_are_current(name: str) -> None:
    published = paths.root() / "docs" / "schema" / name
    assert json.loads(published.read_text()) == documents.schema(documents.SCHEMAS[name]), (
        "run: python -m conformance schema --write docs/schema"
    )


def test_workers_results_are_merged_and_a_lost_case_is_unknown(tmp_path: Path) -> None:
    kept = _stored(tmp_path)
    files.write_case(tmp_path, kept)
    gone = CaseResult(id="idle", feature="idle", operator="sample", nodeid="cases/x.py::idle")
    (made,) = files.collect(tmp_path, {"sample": FACTS}, expected=[kept, gone])
    assert [case.id for case in made.cases] == [kept.id, "idle"]
    assert made.cases[1].verdict is Verdict.UNKNOWN
    assert "left no result" in made.cases[1].sentence
    assert made.verdict is Summary.UNKNOWN
    assert (tmp_path / "report.yaml").is_file()
    assert verify.problems(made, tmp_path) == []


def test_two_operators_have_a_report_each(tmp_path: Path) -> None:
    for name in ("a", "b"):
        case = CaseResult(id="idle", feature="idle", operator=name, verdict=Verdict.CONFORMS)
        files.write_case(tmp_path, case)
    made = files.collect(tmp_path, {"a": FACTS, "b": FACTS})
    assert [[case.operator for case in one.cases] for one in made] == [["a"], ["b"]]
    assert [path.name for path in files.find(tmp_path)] == ["report-a.json", "report-b.json"]


def test_an_earlier_runs_results_do_not_count(tmp_path: Path) -> None:
    files.write_case(tmp_path, _stored(tmp_path))
    files.write({"sample": report([], FACTS)}, tmp_path)
    (tmp_path / "notes.txt").write_text("mine")
    files.begin(tmp_path)
    assert files.read_cases(tmp_path) == []
    assert not list(tmp_path.rglob("*.jsonl.zst"))
    assert not (tmp_path / "report.json").exists()
    assert (tmp_path / "notes.txt").exists()


def test_a_damaged_result_is_named(tmp_path: Path) -> None:
    files.begin(tmp_path)
    (tmp_path / "cases" / "x.json").write_text("{}")
    with pytest.raises(InfraError, match=r"x\.json is not the result of a case"):
        files.read_cases(tmp_path)


def test_cases_that_differ_only_in_brackets_have_files_of_their_own() -> None:
    names = {files.slug(case, "op") for case in ("add[a]", "add[b]", "add", "add-c[a-b]")}
    assert names == {"op--add-a", "op--add-b", "op--add", "op--add-c-a-b"}
