"""How long judging takes as a history grows: it must stay linear."""

import dataclasses
import time
from pathlib import Path

from conformance.history import store
from conformance.history.history import History
from conformance.history.records import EventType
from conformance.judge.verdict import judge

SIZES = (1_000, 10_000, 100_000)


def grown(history: History, size: int) -> History:
    """The history with so many events: a pod is written again and again, with nothing new in it but an
    annotation, between the last change and the last checkpoint."""
    last = history.checkpoints[-1]
    pod = [event for event in history.events if event.obj.kind == "Pod" and event.at < last.at][-1]
    newest = max(last.revision, history.events[-1].revision)
    missing = max(0, size - len(history.events))
    step = (last.at - pod.at) / (missing + 1)
    beats = []
    for count in range(1, missing + 1):
        metadata = {**pod.object["metadata"], "annotations": {"beat": str(count)}}
        metadata["resourceVersion"] = str(newest + count)
        beats.append(
            dataclasses.replace(
                pod, type=EventType.MODIFIED, revision=newest + count, at=pod.at + step * count,
                object={**pod.object, "metadata": metadata},
            )
        )  # fmt: skip
    point = dataclasses.replace(last, revision=newest + missing)
    return History([point if record is last else record for record in history.records] + beats)


def seconds(path: Path, *, sizes: tuple[int, ...] = SIZES, tries: int = 3) -> dict[int, float]:
    """Events → the least of `tries` times (s) that all checkers together took."""
    history = store.read(path)
    found = {}
    for size in sizes:
        large = grown(history, size)
        times = []
        for _ in range(tries):
            again = History(large.records)
            began = time.perf_counter()
            judge(again)
            times.append(time.perf_counter() - began)
        found[size] = round(min(times), 3)
    return found
