"""What the index of a history finds equals the plain definition, whatever order events arrived in."""

import random
from collections.abc import Sequence

import pytest

from conformance.history import event_index
from conformance.history.event_index import EventIndex
from conformance.history.records import Event, EventType
from conformance.model.state import Obj, State


def random_events(chance: random.Random, count: int) -> list[Event]:
    """Objects come, change, go and come again; kinds are seen some time apart, some events at the same
    time or with the revision of another."""
    events, revision = [], 0
    for _ in range(count):
        revision += chance.choice((0, 1, 1, 3))
        uid = f"uid-{chance.randrange(12)}"
        type_ = chance.choice((EventType.ADDED, EventType.MODIFIED, EventType.DELETED))
        meta = {"uid": uid, "name": uid, "resourceVersion": str(revision)}
        raw = {"apiVersion": "v1", "kind": "Pod", "metadata": meta}
        at = 100 + revision * 0.1 + chance.choice((0.0, 0.0, 0.2, 0.5))
        events.append(Event(type=type_, revision=revision, at=at, object=raw))
    return sorted(events, key=lambda event: (event.revision, event.at))


def plain_state(events: Sequence[Event], revision: int) -> State:
    objects: dict[str, Obj] = {}
    at = 0.0
    for event in events:
        if event.revision <= revision:
            at = max(at, event.at)
            if event.type is EventType.DELETED:
                objects.pop(event.obj.uid, None)
            else:
                objects[event.obj.uid] = event.obj
    return State(objects.values(), revision=revision, at=at)


def content(state: State) -> tuple[list[tuple[str, int]], int, float]:
    return [(obj.uid, obj.revision) for obj in state], state.revision, state.at


@pytest.mark.parametrize("shortest", [1, 7, 64])
@pytest.mark.parametrize("seed", range(8))
def test_states_and_stretches_of_time_are_those_of_the_plain_definition(
    seed: int, shortest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(event_index, "_SHORTEST_REPLAY", shortest)
    chance = random.Random(seed)
    events = random_events(chance, chance.choice((0, 1, 50, 200)))
    index = EventIndex(events)
    for revision in [-1, 0, *(event.revision for event in events), 10_000]:
        assert content(index.state(revision)) == content(plain_state(events, revision))
    times = [0.0, 1e9, *(event.at for event in events), *(event.at + 0.05 for event in events)]
    for at in times:
        arrived = [event.revision for event in events if event.at <= at]
        assert index.revision_at(at) == max(arrived, default=0)
        end = chance.choice(times)
        assert index.between(at, end) == [e for e in events if at <= e.at <= end]


def test_a_state_is_not_changed_by_asking_for_another() -> None:
    events = random_events(random.Random(1), 200)
    index = EventIndex(events)
    early = index.state(events[100].revision)
    before = content(early)
    index.state(events[-1].revision)
    assert content(early) == before
