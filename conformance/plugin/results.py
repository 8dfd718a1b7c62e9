"""The results directory: emptied and locked when a run begins, then given histories and results, and
the reports at the end."""

import itertools
import shutil
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from conformance import __version__
from conformance.driver.environment import CaseEnvironment
from conformance.history import store
from conformance.history.history import History
from conformance.judge.verdict import Judgement, judge
from conformance.model.errors import UsageError
from conformance.model.installs import Placement
from conformance.model.run_cases import FEATURE, RunCase
from conformance.model.verdict import Verdict
from conformance.plugin.run_options import RunOptions
from conformance.report import allure, files
from conformance.report.build import RunFacts, case_result
from conformance.report.concessions import environment
from conformance.report.model import Attempt, CaseResult, ConformanceReport


def prepare(results: Path) -> FileLock:
    """Empty what an earlier run left there, and nothing else. Workers of pytest-xdist share it, so
    allure's own --clean-alluredir (which every worker obeys) must not be used. The lock is held as long
    as the run lasts. Raises UsageError if another run holds it."""
    lock = FileLock(results / ".lock")
    try:
        results.mkdir(parents=True, exist_ok=True)
        lock.acquire(blocking=False)
    except Timeout:
        raise UsageError(
            f"another run is writing into {results}; wait for its end, or give --results=DIR"
        ) from None
    except OSError as error:
        raise UsageError(
            f"--results={results} cannot be used ({error.strerror}); expected a directory that can "
            "be written to"
        ) from None
    files.begin(results)
    for part in ("live", "logs", "allure-results"):
        shutil.rmtree(results / part, ignore_errors=True)
    (results / "live").mkdir()
    return lock


def judge_and_store(
    environment: CaseEnvironment,
    history: History,
    *,
    began: float,
    nodeid: str = "",
    error: str = "",
    attempts: Sequence[Attempt] = (),
) -> tuple[Judgement, CaseResult]:
    """Judge a history, and write it with its result. `began` is in seconds since the epoch, `nodeid` is
    pytest's id of the case, `error` says why the history may not be the whole story, `attempts` are
    earlier looks at the case."""
    results = environment.results
    judgement = judge(history)
    path = files.history_path(results, history.header.case, environment.operator)
    store.write(path, history)
    result = case_result(
        history, judgement, duration=time.time() - began, nodeid=nodeid, error=error,
        history_file=files.history_file(path, results=results),
    ).model_copy(update={"attempts": list(attempts)})  # fmt: skip
    files.write_case(results, result)
    return judgement, result


def as_attempt(results: Path, result: CaseResult, *, why: str) -> Attempt:
    """The result of a case that will be looked at again; its history is put aside. Raises OSError."""
    assert result.history is not None
    kept = files.attempt_path(results / result.history.path)
    kept.parent.mkdir(exist_ok=True)
    shutil.copyfile(results / result.history.path, kept)
    return Attempt(
        verdict=result.verdict or Verdict.UNKNOWN, why=why, sentence=result.sentence,
        duration=result.duration, history=files.history_file(kept, results=results),
    )  # fmt: skip


def of_run(operators: Iterable[str]) -> list[CaseResult]:
    """Places for the judgements of whole runs, for the operators whose run came to its end."""
    return [
        CaseResult(id=case, feature=FEATURE, title=case.meaning, operator=operator)
        for operator, case in itertools.product(sorted(operators), RunCase)
    ]


def write_reports(
    run: RunOptions,
    cases: list[CaseResult],
    options: dict[str, str],
    *,
    opened: Mapping[str, CaseEnvironment],
    allure_results: Path | None,
    broken_off: str,
) -> list[ConformanceReport]:
    """Merge the cases' results into the reports, and complete the Allure results. `broken_off` says
    why the run ended early, if it did."""
    for case in cases:
        if case.not_run is not None:
            files.write_case(run.results, case)
    versions = {"suite": __version__, "python": sys.version.split()[0]}
    facts = {}
    for loaded in run.operators:
        name, process = loaded.name, run.cluster.placement is Placement.PROCESS
        there = opened[name].versions if name in opened else {}
        facts[name] = RunFacts(
            profile=loaded.profile, bounds=run.bounds, cluster=run.cluster.kind.value,
            versions={**versions, **there}, options={"operator": loaded.given, **options},
            cluster_admin=process and loaded.profile.process.cluster_admin,
            profile_sha256=loaded.sha256,
        )  # fmt: skip
    reports = files.collect(run.results, facts, expected=cases, broken_off=broken_off)
    if all(case.history or case.not_run for report in reports for case in report.cases):
        # All that was live is in the histories by now; else a dead worker left it to be looked at.
        shutil.rmtree(run.live, ignore_errors=True)
    if allure_results is not None:
        excused: dict[str, str] = {}
        for one in reports:
            prefix = f"{one.operator.name}." if len(reports) > 1 else ""
            excused |= {prefix + name: text for name, text in environment(one).items()}
        allure.write_run_files(
            allure_results, environment={"operator": ", ".join(facts), **versions, **excused}
        )
    return reports
