import pytest

from conformance.model.features import Feature
from conformance.plugin.marks import CaseMark, case, case_id, mark_of, title_of
from tests.plugin.support import CASES, ROOT, fake_run, log, profile

pytest_plugins = ["pytester"]

PLAIN = ("-p", "no:cacheprovider")


@pytest.fixture(autouse=True)
def _here(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    pytester.makepyfile(test_mine=CASES)


def collected(pytester: pytest.Pytester, *options: str) -> list[str]:
    """Node ids in the order in which they would run."""
    result = pytester.runpytest_inprocess(*PLAIN, "--collect-only", "-q", *options)
    assert result.ret == 0, result.outlines
    return [line for line in result.outlines if "::" in line]


def test_collecting_starts_nothing_and_writes_nothing(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBEBUILDER_ASSETS", str(pytester.path))  # nothing could be started
    assert len(collected(pytester, "--operator=reference")) == 5
    assert not (pytester.path / "results").exists()


@pytest.mark.parametrize("option", ["--fixtures", "--setup-plan", "--help"])
def test_asking_pytest_to_show_something_starts_nothing(
    pytester: pytest.Pytester, option: str
) -> None:
    result = pytester.runpytest_inprocess(*PLAIN, "--operator=reference", option)
    assert result.ret == 0
    assert not (pytester.path / "results").exists()


def test_disruptive_cases_come_last_for_each_operator_in_the_order_given(
    pytester: pytest.Pytester,
) -> None:
    first, second = profile(pytester.path, "zebra"), profile(pytester.path, "ant")
    nodes = collected(pytester, f"--operator={first}", f"--operator={second}")
    assert [node.partition("::")[2] for node in nodes] == [
        "test_good[zebra]", "test_deploy[zebra-v1alpha1]", "test_deploy[zebra-v1beta1]",
        "test_kill[zebra]", "test_stop[zebra]",
        "test_good[ant]", "test_deploy[ant-v1alpha1]", "test_deploy[ant-v1beta1]",
        "test_kill[ant]", "test_stop[ant]",
    ]  # fmt: skip


def test_long_cases_come_first(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_mine=CASES
        + """
@case(feature="round trip", long=True)
def test_trip(trial):
    '''There and back again.'''
    trial.good()
"""
    )
    nodes = collected(pytester, "--operator=reference")
    assert [node.partition("::")[2] for node in nodes[:2]] == [
        "test_trip[reference]", "test_good[reference]",
    ]  # fmt: skip


def test_the_id_of_a_case_is_the_same_for_every_operator(pytester: pytest.Pytester) -> None:
    ids: dict[str, list[str]] = {}
    for name in ("one", "an-other"):
        items, _ = pytester.inline_genitems(
            *PLAIN, "--collect-only", f"--operator={profile(pytester.path, name)}"
        )
        ids[name] = [case_id(item) for item in items]
    assert ids["one"] == ids["an-other"]
    assert sorted(ids["one"]) == [
        "mine/deploy[v1alpha1]", "mine/deploy[v1beta1]", "mine/good", "mine/kill", "mine/stop",
    ]  # fmt: skip


def test_the_title_is_the_first_paragraph_of_the_docstring(pytester: pytest.Pytester) -> None:
    items, _ = pytester.inline_genitems(*PLAIN, "--collect-only", "--operator=reference")
    titles = {title_of(item) for item in items if "deploy" in item.name}
    assert titles == {"A graph becomes Deployments."}


def test_a_test_that_is_no_case_has_no_mark(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine="def test_other(): pass")
    items, _ = pytester.inline_genitems(*PLAIN, "--collect-only", "--operator=reference")
    assert [mark_of(item) for item in items] == [None]


def test_a_case_without_a_docstring_is_refused() -> None:
    def test_silent(trial: object) -> None: ...

    with pytest.raises(TypeError, match="case test_silent has no docstring; say what is expected"):
        case(feature="add")(test_silent)


def test_a_case_that_does_not_take_the_trial_is_refused() -> None:
    def test_idle() -> None:
        """Nothing happens."""

    with pytest.raises(TypeError, match="case test_idle does not take `trial`"):
        case(feature="add")(test_idle)


def test_a_refused_case_is_told_and_nothing_runs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        test_mine="""
        from conformance.suite import case

        @case(feature="add")
        def test_silent(trial):
            pass
        """
    )
    result = fake_run(pytester, "--operator=reference")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    result.stdout.fnmatch_lines(["*case test_silent has no docstring*"])
    assert not (pytester.path / "results" / "told.log").exists()


def test_a_mark_keeps_what_was_declared() -> None:
    @case(feature="restart", needs=[Feature.RESTART], disruptive=True, race=True)
    def test_kill(trial: object) -> None:
        """Something."""

    (mark,) = test_kill.pytestmark  # type: ignore[attr-defined]
    assert mark.args[0] == CaseMark(
        feature="restart", needs=(Feature.RESTART,), disruptive=True, race=True
    )


def test_nothing_collected_is_exit_5(pytester: pytest.Pytester) -> None:
    result = fake_run(pytester, "--operator=reference", "-k", "nothing_of_that_name")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert not (pytester.path / "results" / "told.log").exists()
    assert not (pytester.path / "results" / "report.yaml").exists()


def test_nothing_collected_is_exit_5_with_workers_too(pytester: pytest.Pytester) -> None:
    result = fake_run(pytester, "--operator=reference", "-k", "nothing_of_that_name", "-n", "2")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    assert log(pytester) == ["open reference-shared", "close reference-shared"]


def test_a_misspelt_id_is_told_with_workers_too(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=CASES)
    result = fake_run(pytester, "test_mine.py::test_misspelt", "--operator=reference", "-n", "2")
    assert result.ret == pytest.ExitCode.NO_TESTS_COLLECTED
    result.stdout.fnmatch_lines(
        [
            "no case was selected by test_mine.py::test_misspelt, so nothing was judged; *: "
            "pytest test_mine.py --operator=reference --collect-only -q"
        ]
    )
