"""Steps of the suite: what one did, in words, how the API answered it, and what it was to do.

`multinode was added to service VllmDecodeWorker` is how a sentence tells of a step.
"""

from __future__ import annotations

from collections.abc import Iterable

from conformance.history.records import Step
from conformance.judge.wording import join
from conformance.model.answers import Answer, understand
from conformance.model.graph import Service
from conformance.model.transition import ChangeKind

# Changes of a service's own fields, which the graphs before and after tell more exactly.
_OF_FIELDS = frozenset(
    {
        ChangeKind.ADD_MULTINODE,
        ChangeKind.REMOVE_MULTINODE,
        ChangeKind.CHANGE_NODE_COUNT,
        ChangeKind.REPLICAS,
        ChangeKind.IMAGE,
    }
)


def describe(step: Step) -> str:
    """What the step did, as a clause; where a request held several changes, each with its service."""
    through = f" through component {step.target}" if step.component else ""
    exact = _differences(step)
    kinds = [kind for kind in step.kinds if not exact or kind not in _OF_FIELDS]
    parts = dict.fromkeys([*exact, *(_of_kind(kind, step) for kind in kinds)])
    return f"{join(parts)}{through}"


def _differences(step: Step) -> list[str]:
    if step.before is None or step.after is None:
        return []
    before = {service.name: service for service in step.before.services}
    return [
        text
        for service in step.after.services
        if service.name in before
        for text in _of_service(before[service.name], service)
    ]


def _of_service(old: Service, new: Service) -> list[str]:
    of = f"service {new.name}"
    found = []
    if new.multinode and not old.multinode:
        found.append(f"multinode was added to {of}")
    elif old.multinode and not new.multinode:
        found.append(f"multinode was removed from {of}")
    elif old.size != new.size:
        found.append(f"nodeCount of {of} was changed to {new.size}")
    if old.groups != new.groups:
        found.append(f"{of} was scaled to {new.groups}")
    if old.image != new.image:
        found.append(f"the image of {of} was changed")
    return found


def _of_kind(kind: ChangeKind, step: Step) -> str:
    word = "services" if len(step.services) > 1 else "service"
    of = f"{word} {join(step.services)}" if step.services else f"graph {step.target}"
    verb = "were" if len(step.services) > 1 else "was"
    match kind:
        case ChangeKind.DEPLOY:
            return f"{step.target} was deployed"
        case ChangeKind.ADD_MULTINODE:
            return f"multinode was added to {of}"
        case ChangeKind.REMOVE_MULTINODE:
            return f"multinode was removed from {of}"
        case ChangeKind.CHANGE_NODE_COUNT:
            return f"nodeCount of {of} was changed"
        case ChangeKind.REPLICAS:
            return f"{of} {verb} scaled"
        case ChangeKind.IMAGE:
            return f"the image of {of} was changed"
        case ChangeKind.SERVICE_ADDED:
            return f"{of} {verb} added"
        case ChangeKind.SERVICE_REMOVED:
            return f"{of} {verb} removed"
        case ChangeKind.SERVICE_RENAMED if len(step.services) == 2:
            return f"service {step.services[0]} was renamed to {step.services[1]}"
        case ChangeKind.SERVICE_RENAMED:
            return f"{of} {verb} renamed"
        case ChangeKind.ANNOTATION:
            return f"an annotation of {step.target} was changed"
        case ChangeKind.NO_OP:
            return f"{step.target} was sent again unchanged" if step.target else "nothing was done"
        case ChangeKind.DELETE:
            return f"{step.target} was deleted"
        case ChangeKind.ILLEGAL:
            return f"an illegal change of {of} was sent"
        case ChangeKind.OPERATOR:
            return step.name.partition(" #")[0]


def request_of(step: Step) -> str:
    """`add-multinode-2 of service Worker of graph agg through replace-v1beta1`: the request itself."""
    services = f" of service {join(step.services, most=4)}" if step.services else ""
    kind = "component" if step.component else "graph"
    door = f" through {step.door}" if step.door else ""
    return f"{step.name}{services} of {kind} {step.target}{door}"


def relevant(steps: Iterable[Step], service: str) -> Step | None:
    """The last of the steps that names the service, else the last one."""
    last = None
    named = None
    for step in steps:
        last = step
        if service and service in step.services:
            named = step
    return named or last


def asked(step: Step) -> bool:
    """True if the step sent a request. Operator steps, idling and superseded steps send none."""
    return bool(step.request)


def answer_of(step: Step) -> Answer:
    """The API's answer to a step, understood."""
    return understand(step.code, step.answer)


def took(step: Step) -> bool:
    """True if the step was accepted and, where it should, moved the generation. An accepted edit
    that moved nothing (a pruned field) was no acceptance of the change."""
    return step.accepted and (step.moved or not step.moves_generation or step.before is None)


def changes_something(step: Step) -> bool:
    """True if the step was carried out and asks the operator for something else than before."""
    return took(step) and (step.moves_generation or ChangeKind.DELETE in step.kinds)


def owned_component(step: Step) -> bool:
    """True for an edit of a component that belongs to a graph: what is wanted does not change."""
    return step.component and step.before is not None and step.before == step.after
