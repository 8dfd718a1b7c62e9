from types import SimpleNamespace
from typing import Any

import pytest

from conformance.plugin.scheduling import CaseScheduling

CASES = [f"test_a.py::test_{n}" for n in range(6)] + [
    "test_z.py::test_kill",
    "test_z.py::test_stop",
]
GROUPS = dict.fromkeys(CASES[-2:], "disruptive-mine")


class Node:
    """A worker that is told what to run, and has run what it says."""

    def __init__(self, name: str) -> None:
        self.gateway = SimpleNamespace(id=name)
        self.given: list[str] = []
        self.done = 0
        self.shutting_down = False

    def send_runtest_some(self, indices: list[int]) -> None:
        self.given += [CASES[index] for index in indices]

    def shutdown(self) -> None:
        self.shutting_down = True


@pytest.fixture
def workers(pytestconfig: pytest.Config) -> tuple[Any, Node, Node]:
    option = SimpleNamespace(tx=["popen"] * 2, numprocesses=2, maxprocesses=None, debug=False)
    config = SimpleNamespace(
        option=option, getvalue=lambda name: getattr(option, name), getoption=lambda name: None,
        hook=SimpleNamespace(),
    )  # fmt: skip
    scheduling: Any = CaseScheduling(config, None, groups=lambda: GROUPS)  # type: ignore[arg-type]
    one, two = Node("gw0"), Node("gw1")
    for node in (one, two):
        scheduling.add_node(node)
        scheduling.add_node_collection(node, CASES)
    scheduling.schedule()
    return scheduling, one, two


def finish(scheduling: Any, node: Node) -> str:
    """The worker ends the case that it is at."""
    nodeid = node.given[node.done]
    node.done += 1
    scheduling.mark_test_complete(node, CASES.index(nodeid))
    return nodeid


def run_all(scheduling: Any, *nodes: Node) -> None:
    while any(node.done < len(node.given) for node in nodes):
        for node in nodes:
            if node.done < len(node.given):
                finish(scheduling, node)


def test_cases_are_handed_out_in_their_order(workers: tuple[Any, Node, Node]) -> None:
    scheduling, one, two = workers
    run_all(scheduling, one, two)
    assert sorted([*one.given, *two.given]) == sorted(CASES)
    for node in (one, two):
        assert node.given == sorted(node.given, key=CASES.index)


def test_a_group_stays_on_one_worker_and_in_order(workers: tuple[Any, Node, Node]) -> None:
    scheduling, one, two = workers
    run_all(scheduling, one, two)
    holder = one if CASES[-1] in one.given else two
    assert holder.given[-2:] == CASES[-2:]


def test_the_case_of_a_crashed_worker_is_told_and_not_run_again(
    workers: tuple[Any, Node, Node],
) -> None:
    scheduling, one, two = workers
    finished = finish(scheduling, one)
    running = one.given[1]
    assert scheduling.remove_node(one) == running
    run_all(scheduling, two)
    assert sorted([finished, running, *two.given]) == sorted(CASES)


def test_the_rest_of_a_crashed_group_goes_to_another_worker(
    workers: tuple[Any, Node, Node],
) -> None:
    scheduling, one, two = workers
    while CASES[-1] not in one.given + two.given:
        run = one if one.done < len(one.given) else two
        finish(scheduling, run)
    holder, other = (one, two) if CASES[-1] in one.given else (two, one)
    while holder.given[holder.done] != CASES[-2]:
        finish(scheduling, holder)
    assert scheduling.remove_node(holder) == CASES[-2]
    run_all(scheduling, other)
    assert other.given[-1] == CASES[-1]
    assert CASES[-2] not in other.given


def test_a_worker_that_ends_with_nothing_left_is_no_crash(workers: tuple[Any, Node, Node]) -> None:
    scheduling, one, two = workers
    run_all(scheduling, one, two)
    assert scheduling.remove_node(one) is None
    assert scheduling.tests_finished
