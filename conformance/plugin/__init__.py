"""The pytest plugin (entry point `pytest11`): options, the `trial` fixture, ordering, judging, summary.

This module is loaded by every pytest in the environment, so it declares the options and nothing else;
`conformance.plugin.run` with all the rest is loaded once an operator is named.
"""

from __future__ import annotations

import importlib

import pytest

from conformance.plugin.marks import MARK
from conformance.plugin.options import add_options


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the suite's options."""
    add_options(parser)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Load the rest of the plugin if an operator is to be put under test."""
    config.addinivalue_line("markers", f"{MARK}(mark): what a conformance case declares")
    if config.getoption("dgd_operators"):
        run = importlib.import_module("conformance.plugin.run")
        run.configure(config)
        config.pluginmanager.register(run, "dgd-conformance-run")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Without an operator a case cannot even be collected; say so instead of missing a fixture."""
    if "trial" in metafunc.fixturenames and not metafunc.config.getoption("dgd_operators"):
        raise pytest.UsageError(
            "cases need an operator under test, and none was named: give --operator=NAME or the "
            "path of a profile"
        )
