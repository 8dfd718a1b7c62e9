"""The recorder's measure of load, and what a case sees of it."""

import dataclasses
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import cast

from conformance.history.load import counted
from conformance.history.records import Load, Write
from conformance.kube import Api
from conformance.record.files import SIGN_LINES, LoadSign
from conformance.record.load import STRETCH_SECONDS, LoadWatch, Ping
from conformance.record.meter import Measured


def write(user: str, namespace: str) -> Write:
    return Write(
        at=1.0, received_at=1.0, verb="patch", user=user, agent="", group="", resource="pods",
        subresource="", namespace=namespace, name="x", code=200,
    )  # fmt: skip


def test_requests_of_the_operator_are_counted_by_namespace(tmp_path: Path) -> None:
    watch = LoadWatch(tmp_path)
    Measured(users=("operator",)).write(tmp_path)
    start = time.time()
    assert watch.sign(start + STRETCH_SECONDS) is not None, "from now on its users are known"
    for user, namespace in (("operator", "a"), ("operator", "b"), ("operator", "b"), ("kwok", "a")):
        watch.wrote(write(user, namespace))
    assert watch.sign(start + 1.1 * STRETCH_SECONDS) is None, "the stretch is too short yet"
    sign = watch.sign(start + 2 * STRETCH_SECONDS)
    assert sign is not None
    assert dict(sign.requests) == {"a": 1, "b": 2}
    assert sign.seconds == STRETCH_SECONDS
    after = watch.sign(start + 3 * STRETCH_SECONDS)
    assert after is not None
    assert not after.requests


def test_what_operators_write_beside_their_work_is_nobodys_graph(tmp_path: Path) -> None:
    watch = LoadWatch(tmp_path)
    Measured(users=("operator",), own=("operator-system",)).write(tmp_path)
    start = time.time()
    watch.sign(start + STRETCH_SECONDS)
    watch.wrote(write("operator", "operator-system"))
    watch.wrote(write("operator", ""))
    watch.wrote(dataclasses.replace(write("operator", "a"), resource="leases"))
    watch.wrote(dataclasses.replace(write("operator", "a"), resource="events"))
    sign = watch.sign(start + 2 * STRETCH_SECONDS)
    assert sign is not None
    assert not sign.requests


def test_a_storm_in_one_namespace_is_no_work_for_others(tmp_path: Path) -> None:
    """Seen of two builds: a graph deleted in the foreground was made again and again for minutes, and
    every other case was late meanwhile."""
    watch = LoadWatch(tmp_path)
    Measured(users=("operator",)).write(tmp_path)
    start = time.time()
    watch.sign(start + STRETCH_SECONDS)
    signs = []
    for stretch in range(2, 102):
        # It pauses now and then, and works for another graph in bursts.
        for namespace in ["storm"] * (stretch % 8 != 0) + ["work"] * (stretch % 20 < 5):
            watch.wrote(write("operator", namespace))
        sign = watch.sign(start + stretch * STRETCH_SECONDS)
        assert sign is not None
        signs.append(sign)
    early, late = signs[:40], [sign for sign in signs[60:] if "storm" in sign.requests]
    assert not any(sign.storms for sign in early), "it may still come to an end"
    assert late
    assert {sign.storms for sign in late} == {("storm",)}
    quiet = [sign.seen_from("mine") for sign in late if "work" not in sign.requests]
    assert quiet
    assert not any(load.elsewhere for load in quiet)
    own = [
        dataclasses.replace(sign, operator=0.1, platform=0.1).seen_from("storm") for sign in late
    ]
    assert all(load.here and counted(load) == 1.0 for load in own), "who starves it is itself"
    assert all(sign.seen_from("mine").elsewhere for sign in late if "work" in sign.requests)


def test_a_case_sees_who_the_operator_worked_for() -> None:
    sign = LoadSign(
        at=8.0, seconds=0.5, operator=0.5, platform=1.0, request=0.0, requests={"a": 1, "b": 2}
    )
    assert SIGN_LINES.decode(SIGN_LINES.encode(sign)) == sign
    assert sign.seen_from("a") == Load(at=8.0, seconds=0.5, operator=0.5, here=1, elsewhere=2)
    assert sign.seen_from("c") == Load(at=8.0, seconds=0.5, operator=0.5, here=0, elsewhere=3)


def test_an_answer_that_does_not_come_is_timed_while_it_is_awaited() -> None:
    asked, answer = threading.Event(), threading.Event()

    def request(*_: object) -> None:
        asked.set()
        answer.wait(10)

    ping = Ping(cast(Api, SimpleNamespace(request=request)))
    assert asked.wait(10)
    first = ping.seconds
    time.sleep(0.05)
    assert ping.seconds > first
    answer.set()
