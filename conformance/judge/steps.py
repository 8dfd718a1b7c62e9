"""Steps of the suite: what one did, in words, how the API answered it, and what it was to do.

`multinode was added to service VllmDecodeWorker` is how a sentence tells of a step.
"""

from collections.abc import Iterable, Iterator

from conformance.history.records import Step
from conformance.judge.wording import join, verb
from conformance.model.answers import Answer, understand
from conformance.model.transition import ChangeKind

# Changes of a service's own fields, which the graphs before and after tell more exactly.
_FIELDS = {
    ChangeKind.ADD_MULTINODE: "multinode was added to {of}",
    ChangeKind.REMOVE_MULTINODE: "multinode was removed from {of}",
    ChangeKind.CHANGE_NODE_COUNT: "nodeCount of {of} was changed",
    ChangeKind.REPLICAS: "{of} {was} scaled",
    ChangeKind.IMAGE: "the image of {of} was changed",
}
_DONE = {
    **_FIELDS,
    ChangeKind.DEPLOY: "{target} was deployed",
    ChangeKind.SERVICE_ADDED: "{of} {was} added",
    ChangeKind.SERVICE_REMOVED: "{of} {was} removed",
    ChangeKind.SERVICE_RENAMED: "{of} {was} renamed",
    ChangeKind.ANNOTATION: "an annotation of {target} was changed",
    ChangeKind.NO_OP: "{target} was sent again unchanged",
    ChangeKind.DELETE: "{target} was deleted",
    ChangeKind.ILLEGAL: "an illegal change of {of} was sent",
}


def describe(step: Step) -> str:
    """What the step did, as a clause; where a request held several changes, each with its service."""
    through = f" through component {step.target}" if step.component else ""
    exact = list(_differences(step))
    kinds = [kind for kind in step.kinds if not exact or kind not in _FIELDS]
    parts = dict.fromkeys([*exact, *(_of_kind(kind, step) for kind in kinds)])
    return f"{join(parts)}{through}"


def _differences(step: Step) -> Iterator[str]:
    before = {service.name: service for service in (step.before.services if step.before else ())}
    for new in step.after.services if step.after else ():
        old, of = before.get(new.name), f"service {new.name}"
        if old is None:
            continue
        if new.multinode and not old.multinode:
            yield f"multinode was added to {of}"
        elif old.multinode and not new.multinode:
            yield f"multinode was removed from {of}"
        elif old.size != new.size:
            yield f"nodeCount of {of} was changed to {new.size}"
        if old.groups != new.groups:
            yield f"{of} was scaled to {new.groups}"
        if old.image != new.image:
            yield f"the image of {of} was changed"


def _of_kind(kind: ChangeKind, step: Step) -> str:
    services, number = step.services, len(step.services)
    if kind is ChangeKind.OPERATOR:
        return step.name.partition(" #")[0]
    if kind is ChangeKind.NO_OP and not step.target:
        return "nothing was done"
    if kind is ChangeKind.SERVICE_RENAMED and number == 2:
        return f"service {services[0]} was renamed to {services[1]}"
    words = verb(number, "service", "services")
    of = f"{words} {join(services)}" if services else f"graph {step.target}"
    return _DONE[kind].format(of=of, target=step.target, was="were" if number > 1 else "was")


def request_of(step: Step) -> str:
    """`add-multinode-2 of service Worker of graph agg through replace-v1beta1`: the request itself."""
    services = f" of service {join(step.services, most=4)}" if step.services else ""
    kind = "component" if step.component else "graph"
    door = f" through {step.door}" if step.door else ""
    return f"{step.name}{services} of {kind} {step.target}{door}"


def relevant(steps: Iterable[Step], service: str) -> Step | None:
    """The last of the steps that names the service, else the last one."""
    ordered = list(steps)
    named = [step for step in ordered if service and service in step.services]
    return next(reversed(named or ordered), None)


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
