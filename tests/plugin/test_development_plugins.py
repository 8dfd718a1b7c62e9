"""Plugins of this project's own tests never show in a run of cases."""

import pytest

from tests.plugin.support import CASES, ROOT, fake_run

pytest_plugins = ["pytester"]


@pytest.fixture(autouse=True)
def _root_importable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.delenv("PYTEST_XDIST_WORKER", raising=False)  # of these tests themselves


def test_these_tests_have_snapshots(request: pytest.FixtureRequest) -> None:
    assert request.config.pluginmanager.hasplugin("syrupy")
    assert request.getfixturevalue("snapshot") is not None


def test_a_run_of_cases_says_nothing_of_snapshots(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(test_mine=CASES)
    result = fake_run(pytester, "-c", str(ROOT / "pyproject.toml"), "--operator=reference", "-n1")
    assert result.ret == 0, result.outlines
    result.stdout.fnmatch_lines(["reference conforms: * cases*"])
    assert "snapshot" not in result.stdout.str()


@pytest.mark.parametrize("option", ["--fixtures", "--help"])
def test_pytest_lists_nothing_of_snapshots_for_cases(
    pytester: pytest.Pytester, option: str
) -> None:
    result = pytester.runpytest_subprocess(
        "-c", str(ROOT / "pyproject.toml"), str(ROOT / "cases"), "--operator=reference", option
    )
    assert result.ret == 0, result.outlines
    assert "trial" in result.stdout.str() or "--timeout-factor" in result.stdout.str()
    assert "snapshot" not in result.stdout.str()
