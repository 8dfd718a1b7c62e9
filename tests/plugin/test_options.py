import sys
import time
from pathlib import Path

import pytest

from conformance.plugin import results
from tests.plugin.support import CASES, profile, told, usage_error

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def _here(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=CASES)


def mistake(pytester: pytest.Pytester, *options: str) -> str:
    """The sentence that these options are answered with; nothing was started or written."""
    before = set(pytester.path.rglob("*"))
    began = time.process_time()
    sentence = usage_error(pytester.runpytest_inprocess(*options))
    # Seconds of CPU: neither the start of Python nor the load of the machine is ours.
    assert time.process_time() - began < 1.0
    new = {path for path in pytester.path.rglob("*") if "__pycache__" not in path.parts} - before
    assert new == set()
    return sentence


def test_without_an_operator_other_tests_are_left_alone(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_mine="""
        import pytest

        @pytest.fixture
        def trial():
            return 1

        def test_that_has_a_trial_of_its_own(trial):
            assert trial == 1
        """
    )
    result = pytester.runpytest_inprocess("-p", "no:cacheprovider")
    result.assert_outcomes(passed=1)
    assert not (pytester.path / "results").exists()


def test_a_case_without_an_operator_is_told_to_name_one(pytester: pytest.Pytester) -> None:
    assert mistake(pytester, "-p", "no:cacheprovider") == (
        "conformance cases need an operator under test, and none was named: "
        "give --operator=NAME or the path of a profile"
    )


def test_workers_without_an_operator_say_so_once(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest_subprocess("-n", "2", timeout=60)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    assert len(told(result)) == 1
    assert "give --operator=NAME" in told(result)[0]
    assert "crashed" not in result.stdout.str()


def test_an_unknown_operator_is_told_with_those_there_are(pytester: pytest.Pytester) -> None:
    sentence = mistake(pytester, "--operator=refrence")
    assert sentence.startswith("--operator=refrence is neither a known operator nor a path")
    assert "did you mean reference?" in sentence


def test_a_misspelled_field_of_a_profile_is_named(pytester: pytest.Pytester) -> None:
    path = profile(pytester.path, promisses={"add_multinode": "refuse"})
    sentence = mistake(pytester, f"--operator={path}")
    assert "mine.yaml" in sentence
    assert "promisses" in sentence
    assert "promises" in sentence


def test_a_wrong_promise_is_told_with_the_words_that_are_allowed(pytester: pytest.Pytester) -> None:
    path = profile(pytester.path, promises={"add_multinode": "sometimes"})
    sentence = mistake(pytester, f"--operator={path}")
    for word in ("promises.add_multinode", "sometimes", "reconcile", "refuse", "either"):
        assert word in sentence


def test_an_operator_that_needs_program_and_crds_is_told_how_to_give_both(
    pytester: pytest.Pytester,
) -> None:
    sentence = mistake(pytester, "--operator=dynamo-2026-08")
    assert sentence == (
        "the operator dynamo-2026-08 needs its program: --operator-binary=PATH, and its CRDs: "
        "--operator-crds=DIR"
    )


def test_a_program_that_is_not_there_is_told(pytester: pytest.Pytester) -> None:
    options = ("--operator=dynamo-2026-08", "--operator-binary=nowhere", "--operator-crds=.")
    assert mistake(pytester, *options).startswith("--operator-binary=nowhere is not a file")


@pytest.mark.parametrize(
    ("option", "words"),
    [
        (
            "--cluster=kind",
            "the profile of mine has no `in_cluster`, so it cannot run in a cluster's pods",
        ),
        ("--cluster=kubeconfig", "the profile of mine has no `in_cluster`"),
        (
            "--kube-context=x",
            "--kube-context is for --cluster=kubeconfig, found --cluster=embedded",
        ),
        ("--install-operator", "--install-operator is for --cluster=kubeconfig"),
        ("--cluster=minikube", "--cluster=minikube is unknown; expected one of auto, embedded"),
        ("--hold=0", "--hold=0 proves nothing; expected seconds above 0"),
        ("--hold=nan", "--hold=nan proves nothing"),
        ("--timeout-factor=-1", "--timeout-factor=-1 is not a factor; expected a number above 0"),
        ("--timeout-factor=inf", "--timeout-factor=inf is not a factor"),
        ("--fault=deployment-kept", "--fault=deployment-kept: the operator mine has no faults"),
        (
            "--operator-binary=x",
            "--operator-binary: the operator mine has no use for it (no {binary}",
        ),
    ],
)
def test_a_wrong_option_is_told_at_once(pytester: pytest.Pytester, option: str, words: str) -> None:
    path = profile(pytester.path)
    assert mistake(pytester, f"--operator={path}", option).startswith(words)


def test_one_operator_named_twice_is_told(pytester: pytest.Pytester) -> None:
    sentence = mistake(pytester, "--operator=reference", "--operator=reference")
    assert sentence == "--operator names reference twice; name each operator once"


def test_a_results_directory_that_another_run_uses_is_refused(
    pytester: pytest.Pytester, tmp_path: Path
) -> None:
    holder = pytester.popen(
        [
            sys.executable, "-c",
            "import sys; from pathlib import Path\n"
            "from conformance.plugin.results import prepare\n"
            f"lock = prepare(Path({str(tmp_path)!r})); print('held', flush=True); sys.stdin.read()",
        ],
        stdin=-1, stdout=-1,
    )  # fmt: skip
    try:
        assert holder.stdout.readline() == b"held\n"
        sentence = mistake(pytester, "--operator=reference", f"--results={tmp_path}")
        assert sentence == (
            f"another run is writing into {tmp_path}; wait for its end, or give --results=DIR"
        )
    finally:
        holder.communicate()


def test_results_that_cannot_be_written_are_told(pytester: pytest.Pytester) -> None:
    (pytester.path / "file").touch()
    sentence = mistake(pytester, "--operator=reference", "--results=file")
    assert "file cannot be used (File exists)" in sentence
    assert sentence.endswith("expected a directory that can be written to")


def test_a_new_run_removes_what_an_old_one_left_and_nothing_else(tmp_path: Path) -> None:
    for name in ("live/x/old.jsonl", "cases/old.json", "histories/old.jsonl.zst", "mine/kept.txt"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "report.yaml").touch()
    results.prepare(tmp_path).release()
    files = {str(p.relative_to(tmp_path)) for p in tmp_path.rglob("*") if p.is_file()}
    assert files - {".lock"} == {"mine/kept.txt"}


@pytest.mark.parametrize(("cores", "workers"), [(1, 13), (2, 26), (32, 64)])
def test_as_many_cases_run_at_once_as_the_machine_bears(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, cores: int, workers: int
) -> None:
    monkeypatch.setattr("os.sched_getaffinity", lambda _pid: set(range(cores)))
    config = pytester.parseconfig("--operator=reference")
    assert config.hook.pytest_xdist_auto_num_workers(config=config) == workers
    others = pytester.parseconfig()
    assert others.hook.pytest_xdist_auto_num_workers(config=others) != workers
