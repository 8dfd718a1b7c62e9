"""What a step of the suite did, in words: `multinode was added to service VllmDecodeWorker`."""

from __future__ import annotations

from conformance.history.records import Step
from conformance.judge.state.words import listed
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


def deed(step: Step) -> str:
    """What the step did. Where a request held several changes, each with its own service."""
    through = f" through component {step.target}" if step.component else ""
    exact = _differences(step)
    kinds = [kind for kind in step.kinds if not exact or kind not in _OF_FIELDS]
    parts = dict.fromkeys([*exact, *(_of_kind(kind, step) for kind in kinds)])
    return f"{listed(parts)}{through}"


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
    of = f"{word} {listed(step.services)}" if step.services else f"graph {step.target}"
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
