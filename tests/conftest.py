"""What all tests need."""

import os
import signal

import pytest

# A shell starts background jobs with SIGINT ignored, and processes inherit that: tests that interrupt
# a child by Ctrl-C would wait in vain. Handlers are reset at exec, so a default here is enough.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

NO_DOCKER = "DGD_CONFORMANCE_NO_DOCKER"
"""Why this machine has no Docker: set by the gate alone, after it has tried and said so loudly. The
tests that need one are then counted as skipped; without it they fail."""


SNAPSHOTS = "syrupy"
"""The plugin that compares with stored text. pyproject.toml blocks it, so that runs of cases show
none of its options, fixtures and summaries; here it is loaded again."""


def pytest_addoption(pluginmanager: pytest.PytestPluginManager) -> None:
    pluginmanager.unblock(SNAPSHOTS)
    pluginmanager.import_plugin(SNAPSHOTS, consider_entry_points=True)


def pytest_configure(config: pytest.Config) -> None:
    # Workers of pytest-xdist follow this list once more, in its order.
    config.option.plugins.append(SNAPSHOTS)
    config.addinivalue_line("markers", "docker: needs a Docker daemon that can run a kind node")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    reason = os.environ.get(NO_DOCKER)
    for item in items:
        if reason and item.get_closest_marker("docker"):
            item.add_marker(pytest.mark.skip(reason=f"not run: {reason}"))
