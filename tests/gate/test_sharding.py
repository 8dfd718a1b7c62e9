import json
import subprocess
from collections import Counter
from math import ceil
from pathlib import Path

import pytest

from conformance.model.errors import UsageError
from conformance.model.run_cases import RunCase
from conformance.model.shard import Shard, owner
from tests.gate.support import ROOT, environment, run, suite_run

SHIPPED = "shipped.json"


@pytest.fixture(scope="module")
def shipped(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bool]:
    """Id of each shipped case → whether it is disruptive."""
    folder = tmp_path_factory.mktemp("shipped")
    (folder / "list_cases.py").write_text(
        "import json\n"
        "from conformance.plugin.marks import case_id, mark_of\n"
        "def pytest_collection_finish(session):\n"
        f"    with open({str(folder / SHIPPED)!r}, 'w') as file:\n"
        "        json.dump({case_id(i): mark_of(i).disruptive for i in session.items}, file)\n"
    )
    done = run(
        environment()["PYTHON"], "-m", "pytest", ROOT / "cases", "--operator=reference", "-q",
        "-p", "no:cacheprovider", "-p", "list_cases", "--collect-only", cwd=folder,
        env=environment(PYTHONPATH=f"{ROOT}:{folder}"),
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found: dict[str, bool] = json.loads((folder / SHIPPED).read_text())
    assert len(found) > 60
    return found


@pytest.mark.parametrize("count", [1, 2, 3, 4, 8, 1000])
def test_each_case_is_in_exactly_one_shard(shipped: dict[str, bool], count: int) -> None:
    for case in shipped:
        assert sum(Shard(index, count).owns(case) for index in range(1, count + 1)) == 1


def test_the_shard_of_a_case_is_the_same_in_every_process_and_version() -> None:
    assert [owner(f"add/case[{n}]", 4) for n in range(8)] == [2, 3, 4, 2, 3, 3, 1, 4]


@pytest.mark.parametrize("count", [2, 3, 4, 5, 6, 8])
def test_shipped_cases_are_spread_evenly_enough(shipped: dict[str, bool], count: int) -> None:
    sizes = Counter(owner(case, count) for case in shipped)
    assert len(sizes) == count
    assert max(sizes.values()) <= 1.6 * len(shipped) / count
    disruptive = [case for case, stops in shipped.items() if stops]
    together = max(Counter(owner(case, count) for case in disruptive).values())
    # One more than their share: a new case must not need another salt, which would move all others.
    assert together <= ceil(len(disruptive) / count) + 1


@pytest.mark.parametrize(
    "text", ["", "1", "0/3", "4/3", "1/0", "-1/3", "1/3/5", "a/b", "1/1001", " 1/3", "१/३"]
)
def test_what_is_no_share_is_told_in_one_sentence(text: str) -> None:
    with pytest.raises(UsageError, match="expected i/n with 1 <= i <= n"):
        Shard.parse(text)


def test_a_bad_shard_ends_the_run_at_once_with_exit_4(tmp_path: Path) -> None:
    done = suite_run(tmp_path, "--operator=reference", "--shard=4/3")
    assert done.returncode == 4
    assert done.stderr.strip() == (
        "ERROR: --shard=4/3 is no share; expected i/n with 1 <= i <= n <= 1000, such as 2/4"
    )


def cases_of(folder: Path, results: str) -> dict[str, str | None]:
    data = json.loads((folder / results / "report.json").read_text())
    return {case["id"]: case["not_run"] for case in data["cases"]}


def ran(folder: Path, results: str) -> set[str]:
    return {case for case, why in cases_of(folder, results).items() if why is None}


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_sharded_run_says_its_shard_and_lists_what_others_run(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    done = suite_run(tmp_path, "--operator=reference", "--shard=2/3", *workers)
    assert done.returncode in (0, 1), done.stdout
    data = json.loads((tmp_path / "results" / "report.json").read_text())
    assert data["options"]["shard"] == "2/3"
    listed = cases_of(tmp_path, "results")
    assert len(listed) == 8 + len(RunCase)
    for case in RunCase:
        assert listed.pop(case) is None, "each shard judges the end of its own run"
    for case, why in listed.items():
        assert why == (None if Shard(2, 3).owns(case) else "deselected")


def test_a_case_that_is_added_moves_no_other(tmp_path: Path) -> None:
    assert suite_run(tmp_path, "--operator=reference", "--shard=1/3").returncode in (0, 1)
    before = ran(tmp_path, "results")
    source = tmp_path / "test_mine.py"
    source.write_text(source.read_text().replace("range(5)", "range(30)"))
    assert suite_run(tmp_path, "--operator=reference", "--shard=1/3").returncode in (0, 1)
    after = ran(tmp_path, "results")
    assert before < after
    new = {f"mine/good[{number}]" for number in range(5, 30)}
    assert after - before == {case for case in new if owner(case, 3) == 1}


def lonely(tmp_path: Path, keyword: str, *more: str) -> subprocess.CompletedProcess[str]:
    """A run of the shard that the case `mine/kill` is not in."""
    other = owner("mine/kill", 2) % 2 + 1
    return suite_run(tmp_path, "--operator=reference", f"--shard={other}/2", "-k", keyword, *more)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_shard_that_has_none_of_the_chosen_cases_is_no_failure_and_has_a_report(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    done = lonely(tmp_path, "kill", *workers)
    assert done.returncode == 0, done.stdout
    assert set(cases_of(tmp_path, "results").values()) == {"deselected"}
    told = tmp_path / "results" / "told.log"
    lines = told.read_text().splitlines() if told.exists() else []
    assert not [line for line in lines if line.startswith("case")]


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "workers"])
def test_a_selection_that_matches_nothing_is_exit_5_in_every_shard(
    tmp_path: Path, workers: tuple[str, ...]
) -> None:
    done = lonely(tmp_path, "misspelt", *workers)
    assert done.returncode == 5
    assert (
        "no case was selected by test_mine.py -k 'misspelt', so nothing was judged" in done.stdout
    )
