"""One growing file from the logs of pods that come, crash and go."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.operator.pods.logs import PodLogs
from tests.cluster.clusters import eventually

from .log_server import LogServer

T = "2026-11-30T10:00:0"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[LogServer]:
    made = LogServer(tmp_path)
    yield made
    made.close()


@pytest.fixture
def logs(server: LogServer, tmp_path: Path) -> Iterator[PodLogs]:
    made = PodLogs(
        server.kubeconfig, namespace="ops", container="manager", path=tmp_path / "l" / "op.log"
    )
    yield made
    made.close()


def holds(logs: PodLogs, *lines: str) -> None:
    text = "".join(f"{line}\n" for line in lines)
    eventually(lambda: logs.path.read_text(encoding="utf-8") == text, within=10)


def test_lines_come_as_they_were_written_and_while_they_are(
    server: LogServer, logs: PodLogs
) -> None:
    pieces = [f"{T}0.1Z one\n{T}0.2Z   two ", "and more\n", f"{T}1Z \n", "..."]
    server.script = lambda query: (200, pieces) if "follow" in query else (400, ["no previous"])
    logs.follow("u1", "op-1")
    logs.follow("u1", "op-1")
    holds(logs, "one", "  two and more", "")
    assert [ask["path"] for ask in server.asked] == ["/api/v1/namespaces/ops/pods/op-1/log"] * 2
    assert all(ask["container"] == "manager" for ask in server.asked)


def test_broken_connection_goes_on_where_it_ended(server: LogServer, logs: PodLogs) -> None:
    # Go leaves trailing zeros out: .12 is before .123, and after .1.
    first = [f"{T}0.1Z a\n", f"{T}0.12Z b\n", "!"]
    again = [f"{T}0.1Z a\n{T}0.12Z b\n{T}0.123Z c\n", "..."]

    def script(query: dict[str, str]) -> tuple[int, list[str]]:
        if "follow" not in query:
            return 400, ["no previous"]
        return 200, again if "sinceTime" in query else first

    server.script = script
    logs.follow("u1", "op-1")
    holds(logs, "a", "b", "c")
    assert next(ask["sinceTime"] for ask in server.asked if "sinceTime" in ask) == f"{T}0Z"


def test_end_of_a_crashed_run_is_read_before_the_next_one(server: LogServer, logs: PodLogs) -> None:
    previous = [f"{T}0.1Z panic: oh\n{T}0.2Z goroutine 1\n"]
    present = [f"{T}5.1+00:00 up again\n", "..."]
    server.script = lambda query: (200, present if "follow" in query else previous)
    logs.follow("u1", "op-1")
    holds(logs, "panic: oh", "goroutine 1", "up again")


def test_waits_for_a_container_that_starts_and_ends_with_its_pod(
    server: LogServer, logs: PodLogs
) -> None:
    answers = iter([(400, ["waiting"]), (400, ["waiting"]), (400, ["none"])])
    pieces = [f"{T}0.1Z the last words\n"]
    script = iter([(200, pieces), (404, ["gone"])])
    server.script = lambda query: next(answers, None) or next(script, (404, ["gone"]))
    logs.follow("u1", "op-1")
    holds(logs, "the last words")
    asked = len(server.asked)
    time.sleep(0.5)
    assert len(server.asked) <= asked + 1


def test_two_pods_share_the_file_and_the_last_line_is_known(
    server: LogServer, logs: PodLogs
) -> None:
    def script(query: dict[str, str]) -> tuple[int, list[str]]:
        if "follow" not in query:
            return 400, ["none"]
        pod = server.asked[-1]["path"].split("/")[-2]
        return 200, [f"{T}0.1Z of {pod}\n", "..."]

    server.script = script
    logs.follow("u1", "op-1")
    holds(logs, "of op-1")
    logs.follow("u2", "op-2")
    holds(logs, "of op-1", "of op-2")
    assert logs.last_line() == "of op-2"


def test_refusal_is_remembered(server: LogServer, logs: PodLogs) -> None:
    server.script = lambda query: (403, ['pods "op-1" is forbidden'])
    logs.follow("u1", "op-1")
    eventually(lambda: "answered 403" in logs.problem, within=5)
    assert "is forbidden" in logs.problem


def test_close_does_not_wait_for_a_silent_operator(server: LogServer, logs: PodLogs) -> None:
    server.script = lambda query: (200, ["..."])
    logs.follow("u1", "op-1")
    eventually(lambda: server.asked, within=5)
    began = time.monotonic()
    logs.close()
    assert time.monotonic() - began < 5
