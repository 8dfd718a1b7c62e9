import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from conformance.__main__ import main
from conformance.history import store
from conformance.model.errors import UsageError
from conformance.model.run_cases import PREFIX, RunCase
from conformance.model.shard import owner
from conformance.model.verdict import Verdict
from conformance.report import compare, files, recheck
from conformance.report.build import statistics, summary
from conformance.report.files import digest
from conformance.report.merge import merge
from conformance.report.model import (
    CaseResult,
    ConformanceReport,
    HistoryFile,
    ReportedFinding,
    Summary,
)
from conformance.report.verify import problems
from tests.gate.support import suite_run

N = 3
RUN = RunCase.NOTHING_LEFT


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One run without shards (`all`) and one of each shard (`1` …)."""
    folder = tmp_path_factory.mktemp("runs")
    for name, more in {
        "all": (),
        **{str(n): (f"--shard={n}/{N}",) for n in range(1, N + 1)},
    }.items():
        done = suite_run(
            folder, "--operator=reference", f"--results={name}", *more,
            f"--junit-xml={name}/junit.xml", f"--alluredir={name}/allure-results",
        )  # fmt: skip
        assert done.returncode in (0, 1), done.stdout + done.stderr
        logs = folder / name / "logs"
        logs.mkdir(exist_ok=True)
        (logs / "etcd.log").write_text(f"etcd of {name}")
    return folder


@pytest.fixture
def shards(runs: Path, tmp_path: Path) -> list[Path]:
    """Copies that a test may spoil."""
    folders = [tmp_path / f"shard-{n}" for n in range(1, N + 1)]
    for number, folder in enumerate(folders, 1):
        shutil.copytree(runs / str(number), folder)
    return folders


def report_of(folder: Path) -> ConformanceReport:
    return files.read(folder / "report.json")


def edit(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change a report on disk, with its own counts kept true."""
    path = folder / "report.json"
    data = json.loads(path.read_text())
    change(data)
    report = ConformanceReport.model_validate(data)
    report = report.model_copy(
        update={
            "statistics": statistics(report.cases),
            "verdict": summary(report.cases, deviates=bool(report.deviations)),
        }
    )
    files.write({"reference": report}, folder)


def without_times(data: dict[str, Any]) -> dict[str, Any]:
    """What of a report does not differ from run to run."""
    times = {"date", "duration", "seconds", "first_at", "last_at", "sha256"}
    by_shard = {*times, "history", "shards"}  # of judgements of a whole run each shard has its own

    def stripped(value: Any) -> Any:
        if isinstance(value, dict):
            if str(value.get("id", "")).startswith(PREFIX):
                return {key: part for key, part in value.items() if key not in by_shard}
            return {key: stripped(part) for key, part in value.items() if key not in times}
        return [stripped(part) for part in value] if isinstance(value, list) else value

    found: dict[str, Any] = stripped(data)
    return found


def test_the_merged_report_is_the_unsharded_one_times_aside(
    runs: Path, shards: list[Path], tmp_path: Path
) -> None:
    merge(tmp_path / "merged", shards)
    merged, whole = report_of(tmp_path / "merged"), report_of(runs / "all")
    assert without_times(merged.model_dump(mode="json")) == without_times(
        whole.model_dump(mode="json")
    )
    assert compare.differences(merged, whole) == []
    assert merged.verdict is Summary.VIOLATES
    assert merged.date == max(report_of(folder).date for folder in shards)


def test_what_is_merged_verifies_and_can_be_judged_again(
    shards: list[Path], tmp_path: Path
) -> None:
    target = tmp_path / "merged"
    (merged,) = merge(target, shards)
    assert problems(merged, target) == []
    assert len(files.read_cases(target)) == 8 + len(RunCase)
    checks = recheck.recheck(target)
    assert len(checks) == 8 + N * len(RunCase)
    assert all(check.same for check in checks), [check.to_json() for check in checks]


def test_junit_allure_and_logs_of_all_shards_are_there(
    runs: Path, shards: list[Path], tmp_path: Path
) -> None:
    target = tmp_path / "merged"
    merge(target, shards)

    def names(path: Path) -> set[tuple[str | None, str | None]]:
        return {
            (c.get("classname"), c.get("name")) for c in ElementTree.parse(path).iter("testcase")
        }

    assert names(target / "junit.xml") == names(runs / "all" / "junit.xml")
    suite = ElementTree.parse(target / "junit.xml").getroot()[0]
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors")) == ("8", "1", "0")
    results = list((target / "allure-results").glob("*-result.json"))
    assert len(results) == 8
    assert (target / "allure-results" / "environment.properties").is_file()
    assert (target / "logs" / "shard-2" / "etcd.log").read_text() == "etcd of 2"


def test_an_earlier_merge_in_the_folder_does_not_count(shards: list[Path], tmp_path: Path) -> None:
    merge(tmp_path / "merged", shards)
    stale = CaseResult(id="mine/gone", feature="add", operator="reference")
    files.write_case(tmp_path / "merged", stale)
    (tmp_path / "merged" / "allure-results" / "old-result.json").write_text("{}")
    merge(tmp_path / "merged", shards)
    assert len(files.read_cases(tmp_path / "merged")) == 8 + len(RunCase)
    assert not (tmp_path / "merged" / "allure-results" / "old-result.json").exists()


def set_version(data: dict[str, Any]) -> None:
    data["versions"]["python"] = "0.1.0"


def set_hold(data: dict[str, Any]) -> None:
    data["bounds"]["hold"] = 2.0
    data["deviations"]["hold"] = {"value": 2.0, "default": 5.0}


def set_operator(data: dict[str, Any]) -> None:
    data["operator"]["version"] = "9"


def set_fault(data: dict[str, Any]) -> None:
    data["options"]["fault"] = "podgroup-kept"


def set_cluster(data: dict[str, Any]) -> None:
    data["cluster"] = "kind"


def set_profile(data: dict[str, Any]) -> None:
    data["profile_sha256"] = "0" * 64


def hide_concessions(data: dict[str, Any]) -> None:
    data["concessions"] = [{"kind": "retained-object", "what": "Secret ssh", "reason": "r"}]


def test_a_shard_that_lists_other_concessions_than_its_histories_is_refused(
    shards: list[Path], tmp_path: Path
) -> None:
    edit(shards[1], hide_concessions)
    with pytest.raises(
        UsageError, match="is not what its run wrote: concessions lists the retained object"
    ):
        merge(tmp_path / "merged", shards)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (set_profile, "profile_sha256 is [0-9a-f]{64} in the first and 0{64} in the second"),
        (set_version, r"versions.python is 3\.\S+ in the first and 0.1.0 in the second"),
        (set_hold, r"bounds.hold is 5.0 in the first and 2.0 in the second"),
        (set_operator, "operator.version is .* in the first and 9 in the second"),
        (set_fault, "options.fault is not given in the first and podgroup-kept in the second"),
        (set_cluster, "cluster is embedded in the first and kind in the second"),
    ],
)
def test_shards_of_different_runs_are_refused(
    shards: list[Path], tmp_path: Path, change: Callable[[dict[str, Any]], None], told: str
) -> None:
    edit(shards[1], change)
    with pytest.raises(UsageError, match=rf"not of one run: {told}"):
        merge(tmp_path / "merged", shards)
    assert not (tmp_path / "merged").exists()


def test_a_missing_shard_is_named(shards: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"reference lacks shard 2/3; give"):
        merge(tmp_path / "merged", [shards[0], shards[2]])


def test_a_shard_given_twice_is_refused(shards: list[Path], tmp_path: Path) -> None:
    shutil.copytree(shards[0], tmp_path / "again")
    with pytest.raises(UsageError, match="are the same shard; give it once"):
        merge(tmp_path / "merged", [*shards, tmp_path / "again"])


def test_another_number_of_shards_is_refused(shards: list[Path], tmp_path: Path) -> None:
    edit(shards[2], lambda data: data["options"].update(shard="3/4"))
    with pytest.raises(UsageError, match="there are 3 shards in one and 4 in the other"):
        merge(tmp_path / "merged", shards)


def test_a_run_without_shards_is_refused(runs: Path, shards: list[Path], tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is of no shard"):
        merge(tmp_path / "merged", [*shards[:2], runs / "all"])


def test_the_same_case_twice_is_refused(shards: list[Path], tmp_path: Path) -> None:
    number = owner("mine/kill", N)
    (result,) = (c for c in report_of(shards[number - 1]).cases if c.id == "mine/kill")
    other = shards[number % N]
    assert result.history is not None
    shutil.copy(shards[number - 1] / result.history.path, other / result.history.path)

    def again(data: dict[str, Any]) -> None:
        data["cases"] = [c for c in data["cases"] if c["id"] != "mine/kill"]
        data["cases"].append(result.model_dump(mode="json"))

    edit(other, again)
    with pytest.raises(UsageError, match="case mine/kill"):
        merge(tmp_path / "merged", shards)


def test_a_case_in_the_wrong_shard_is_refused(shards: list[Path], tmp_path: Path) -> None:
    for folder, number in zip(shards, (2, 3, 1), strict=True):
        edit(folder, lambda data, n=number: data["options"].update(shard=f"{n}/3"))  # type: ignore[misc]
    with pytest.raises(UsageError, match=r"belongs to shard \d/3"):
        merge(tmp_path / "merged", shards)


def test_shards_of_different_suites_are_refused(shards: list[Path], tmp_path: Path) -> None:
    def forget(data: dict[str, Any]) -> None:
        data["cases"] = [c for c in data["cases"] if c["id"] != "mine/kill"]

    edit(shards[owner("mine/kill", N) % N], forget)
    with pytest.raises(UsageError, match="knows nothing of case mine/kill"):
        merge(tmp_path / "merged", shards)


def test_a_case_that_its_own_shard_does_not_know_is_refused(
    shards: list[Path], tmp_path: Path
) -> None:
    def forget(data: dict[str, Any]) -> None:
        data["cases"] = [c for c in data["cases"] if c["id"] != "mine/kill"]

    edit(shards[owner("mine/kill", N) - 1], forget)
    with pytest.raises(UsageError, match="knows case mine/kill, and its own shard"):
        merge(tmp_path / "merged", shards)


def test_a_history_that_was_changed_is_refused(shards: list[Path], tmp_path: Path) -> None:
    path = next((shards[0] / "histories").glob("*.zst"))
    path.write_bytes(path.read_bytes() + b" ")
    with pytest.raises(UsageError, match=r"not what its run wrote: case .* has sha256"):
        merge(tmp_path / "merged", shards)
    assert not (tmp_path / "merged").exists()


def test_a_verdict_that_was_changed_is_refused(shards: list[Path], tmp_path: Path) -> None:
    path = shards[0] / "report.json"
    data = json.loads(path.read_text())
    data["verdict"] = "conforms"
    path.write_text(json.dumps(data))
    with pytest.raises(UsageError, match="not what its run wrote: verdict says conforms"):
        merge(tmp_path / "merged", shards)


@pytest.mark.parametrize("place", [".", "shard-1", "shard-1/merged"])
def test_results_are_not_merged_into_themselves(
    shards: list[Path], tmp_path: Path, place: str
) -> None:
    with pytest.raises(UsageError, match="lie in one another"):
        merge(tmp_path / place, shards)


def test_a_folder_with_something_else_is_left_alone(shards: list[Path], tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("years of work")
    with pytest.raises(UsageError, match="holds something else than results"):
        merge(tmp_path / "mine", shards)


def add_run_judgement(
    folder: Path, *, verdict: Verdict, message: str = "", missed: tuple[str, ...] = ()
) -> None:
    """The judgement of the end of a run, as each shard's run has one."""
    history = store.read(next((folder / "histories").glob("*.zst")))
    path = files.history_path(folder, RUN, "reference")
    store.write(path, history)
    findings = [
        ReportedFinding(
            checker="orphans", verdict=verdict, subject="ClusterRole/x", message=message
        )
    ]
    case = CaseResult(
        id=RUN, feature="whole run", operator="reference", verdict=verdict, duration=1.0,
        findings=findings if message else [], unexpected_passes=list(missed),
        history=HistoryFile(path=path.relative_to(folder).as_posix(), sha256=digest(path)),
    )  # fmt: skip

    def replace(data: dict[str, Any]) -> None:
        others = [row for row in data["cases"] if row["id"] != RUN]
        data["cases"] = [*others, case.model_dump(mode="json")]

    edit(folder, replace)


def test_the_worst_judgement_of_a_whole_run_wins_and_every_shards_history_is_kept(
    shards: list[Path], tmp_path: Path
) -> None:
    add_run_judgement(shards[0], verdict=Verdict.CONFORMS)
    add_run_judgement(shards[1], verdict=Verdict.VIOLATES, message="ClusterRole x is left")
    add_run_judgement(shards[2], verdict=Verdict.UNKNOWN, message="changes may have been missed")
    target = tmp_path / "merged"
    (merged,) = merge(target, shards)
    (run,) = (case for case in merged.cases if case.id == RUN)
    assert run.verdict is Verdict.VIOLATES
    assert run.sentence == "ClusterRole x is left"
    assert [f.message for f in run.findings] == [
        "ClusterRole x is left", "changes may have been missed",
    ]  # fmt: skip
    assert [part.verdict for part in run.shards] == [
        Verdict.CONFORMS, Verdict.VIOLATES, Verdict.UNKNOWN,
    ]  # fmt: skip
    for number, part in enumerate(run.shards, 1):
        assert part.history is not None
        assert part.history.path.endswith(f"run-nothing_left_elsewhere.shard-{number}.jsonl.zst")
        assert digest(target / part.history.path) == part.history.sha256
    assert problems(merged, target) == []
    (target / run.shards[0].history.path).write_bytes(b"other")  # type: ignore[union-attr]
    assert len(problems(merged, target)) == 1


def test_a_known_failure_is_missed_only_if_no_shard_shows_it(
    shards: list[Path], tmp_path: Path
) -> None:
    link = "https://example.com/1"
    for folder, missed in zip(shards, ((link,), (), (link,)), strict=True):
        add_run_judgement(folder, verdict=Verdict.CONFORMS, missed=missed)
    (merged,) = merge(tmp_path / "merged", shards)
    assert merged.statistics.unexpected_passes == 0


def test_the_command_merges_and_its_exit_code_gates(
    shards: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "merged"
    assert main(["report", "merge", str(target), *map(str, shards)]) == 1
    assert "reference: violates (1 of 10 cases violates)" in capsys.readouterr().out
    assert main(["report", "merge", str(target), str(shards[0])]) == 4
    error = capsys.readouterr().err
    assert error.startswith("error: reference lacks shard 2/3, 3/3")
    assert len(error.splitlines()) == 1


def test_the_command_compares(
    runs: Path, shards: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    merge(tmp_path / "merged", shards)
    whole = str(runs / "all")
    assert main(["report", "compare", str(tmp_path / "merged"), whole]) == 0
    assert capsys.readouterr().out == "no difference apart from times: 10 cases, violates\n"
    assert main(["report", "compare", str(shards[0]), whole]) == 1
    assert "not run: deselected (deselected) in the first, none in the second" in (
        capsys.readouterr().out
    )
