"""The pytest plugin (entry point `pytest11`): options, the `trial` fixture, ordering, judging, summary.

This module is loaded by every pytest in the environment, so it declares the options and nothing else;
`conformance.plugin.run` with all the rest is loaded once an operator is named.
"""

import importlib
import os
from typing import Any

import pytest

from conformance.plugin.marks import MARK
from conformance.plugin.options import option, pytest_addoption

__all__ = ["pytest_addoption"]

_NO_OPERATOR = (
    "conformance cases need an operator under test, and none was named: give --operator=NAME or the "
    "path of a profile"
)
_WORKERS_A_CORE = 13
"""All cases on two cores took 119 s with 26 workers and 127 s with 20; on slower ones 245 s with 26 and
281 s with 12."""
_MOST_WORKERS = 64
"""With that many the longest case decides."""
_COMPLAINT = "dgd_complaint"


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load the rest of the plugin if an operator is to be put under test."""
    config.addinivalue_line("markers", f"{MARK}(mark): what a conformance case declares")
    if option(config, "operator"):
        run = importlib.import_module("conformance.plugin.run")
        run.configure(config)
        config.pluginmanager.register(run, "dgd-conformance-run")


@pytest.hookimpl(optionalhook=True, tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """How many workers `-n auto` means: cases mostly wait, so a core bears many of them."""
    if not option(config, "operator"):
        return None
    return min(_MOST_WORKERS, _WORKERS_A_CORE * len(os.sched_getaffinity(0)))


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Without an operator a case cannot run; say so once instead of missing a fixture in each."""
    cases = (item for item in items if item.get_closest_marker(MARK))
    if option(config, "operator") or not any(cases):
        return
    output: dict[str, Any] | None = getattr(config, "workeroutput", None)
    if output is None:
        raise pytest.UsageError(_NO_OPERATOR)
    # A worker of pytest-xdist that raises is taken for one that crashed, and is started again.
    output[_COMPLAINT] = _NO_OPERATOR
    items.clear()


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """What a worker had to complain about is told once, by the controller."""
    complaint = getattr(node, "workeroutput", {}).get(_COMPLAINT)
    if complaint:
        raise pytest.UsageError(complaint)
