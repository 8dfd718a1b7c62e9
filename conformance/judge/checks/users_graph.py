"""The user's own object stays the user's: what a graph (or bare component) asks for, and the labels
and annotations that the user gave it, are not rewritten.

Part of `fidelity`: an operator that takes `multinode` out of the graph again agrees with itself in
everything else. What it adds of its own (annotations, finalizers, defaults) is its affair, and so are
keys with a reserved prefix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.history.history import History
from conformance.history.records import Checkpoint, Step
from conformance.judge.checks.containment import contains
from conformance.judge.checks.promises import answer_of, asked, took
from conformance.judge.checks.words import by, listing, named, seconds, subject
from conformance.judge.state.changes import Act, Change
from conformance.judge.state.intent import intent
from conformance.judge.state.writes import log_of
from conformance.model.graph import COMPONENT_KIND, GRAPH_KIND, Graph
from conformance.model.kinds import Actor
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_Wish = tuple[int, int, str]


def users_graph(history: History, checkpoint: Checkpoint) -> Iterator[Finding]:
    """What was taken from a graph or bare component until the checkpoint."""
    state = history.at_checkpoint(checkpoint)
    for kind, graphs in ((GRAPH_KIND, checkpoint.graphs), (COMPONENT_KIND, checkpoint.components)):
        for graph in graphs:
            root = state.named(kind, graph.name, history.namespace)
            if root is None:
                continue
            yield from _made_again(history, checkpoint, root)
            taken = list(_rewritten(history, checkpoint, root, _users_keys(history, graph.name)))
            yield from taken
            sent = (
                s for s in history.steps if s.target == root.name and s.sent_at <= checkpoint.at
            )
            if not taken and all(_plain(step) for step in sent):
                yield from _astray(history, checkpoint, root, graph)


def _made_again(history: History, checkpoint: Checkpoint, root: Obj) -> Iterator[Finding]:
    """The user's object is another one, which the operator made under the name."""
    by_whom = log_of(history).creator(root.uid)
    if by_whom is Actor.OPERATOR:
        born = history.lives[root.uid].created_at
        text = (
            f"The operator made {named(root)}, which is the user's, anew: it is another object now."
        )
        yield _finding(checkpoint, root, Verdict.VIOLATES, text, at=born or checkpoint.at)


def _plain(step: Step) -> bool:
    """False for a step after which the stored graph need not be what is meant: an edit that the API
    dropped, an illegal one that it took, or one whose answer does not tell whether it was stored."""
    if not asked(step) or answer_of(step).refused:
        return True
    return took(step) and ChangeKind.ILLEGAL not in step.kinds


def _users_keys(history: History, name: str) -> set[str]:
    """The labels and annotations that the user ever gave the graph of that name."""
    graphs = [
        graph
        for checkpoint in history.checkpoints
        for graph in (*checkpoint.graphs, *checkpoint.components)
    ]
    graphs += [g for step in history.steps for g in (step.before, step.after) if g is not None]
    return {key for g in graphs if g.name == name for key in (*g.labels, *g.annotations)}


def _rewritten(
    history: History, checkpoint: Checkpoint, root: Obj, keys: set[str]
) -> Iterator[Finding]:
    """Writes of others than the suite that took something. The API's answers say which revisions are
    the suite's own, so a write right after one of these has an author all the same."""
    steps = history.steps_of(checkpoint)
    start = min((step.sent_at for step in steps), default=checkpoint.since)
    own = {step.revision_after for step in history.steps}
    log = log_of(history)
    for change in log.changes(start, checkpoint.at):
        if change.obj.uid != root.uid or change.event.revision in own:
            continue
        taken = _taken(change, keys, _reserved(history))
        writers = log.writers(change) - {Actor.SUITE}
        if not taken or not writers:
            continue
        writer = next(iter(writers)) if len(writers) == 1 else Actor.UNKNOWN
        step = next((s.name for s in reversed(steps) if s.sent_at <= change.at), "")
        after = f" {seconds(change.at - start)} after {step}" if step else ""
        verdict = Verdict.VIOLATES if writer is Actor.OPERATOR else Verdict.UNKNOWN
        yield _finding(
            checkpoint, root, verdict,
            f"{by(writer).capitalize()} rewrote {named(root)}, which is the user's,{after}: "
            f"{listing(taken)}.",
            at=change.at,
        )  # fmt: skip


def _taken(change: Change, keys: set[str], reserved: tuple[str, ...]) -> list[str]:
    before, after = change.before, change.obj
    if before is None or change.act is not Act.CHANGED:
        return []
    old, new = intent(before), intent(after)
    found = _unlike(_wishes(old), _wishes(new)) if old is not None and new is not None else []
    if old is not None and new is not None:
        found += _thinned(old, new)
    for what, mine, now in (
        ("label", before.labels, after.labels),
        ("annotation", before.annotations, after.annotations),
    ):
        found += _lost(what, {k: v for k, v in mine.items() if k in keys}, now, reserved)
    return found


def _thinned(old: Graph, new: Graph) -> list[str]:
    """What a service's pod said and says no more."""
    later = {service.name.lower(): service for service in new.services}
    return [
        f"{what} of service {service.name}, which says less than it did"
        for service in old.services
        if (now := later.get(service.name.lower())) is not None
        for what, mine, theirs in (
            ("container", service.container, now.container), ("pod", service.pod, now.pod),
        )
        if not contains(mine, theirs)
    ]  # fmt: skip


def _astray(history: History, checkpoint: Checkpoint, root: Obj, graph: Graph) -> Iterator[Finding]:
    """What the stored object no longer says, whoever saw to that: a webhook changes the suite's own
    write."""
    now = intent(root)
    if now is None:
        return
    found = _unlike(_wishes(graph), _wishes(now))
    reserved = _reserved(history)
    found += _lost("label", graph.labels, root.labels, reserved)
    found += _lost("annotation", graph.annotations, root.annotations, reserved)
    if not found:
        return
    log, steps = log_of(history), history.steps_of(checkpoint)
    start = min((step.sent_at for step in steps), default=checkpoint.since)
    authors = {
        layer
        for change in log.changes(start, checkpoint.at)
        if change.obj.uid == root.uid and change.weighs
        for layer in log.writers(change)
    }
    strangers = authors - {Actor.SUITE, Actor.OPERATOR}
    yield _finding(
        checkpoint, root, Verdict.UNKNOWN if strangers else Verdict.VIOLATES,
        f"{named(root)} is no longer what the user wrote, "
        f"{seconds(checkpoint.at - checkpoint.since)} after the last change: {listing(found)}.",
        at=checkpoint.at,
    )  # fmt: skip


def _reserved(history: History) -> tuple[str, ...]:
    return tuple(history.profile.labels.reserved)


def _wishes(graph: Graph) -> dict[str, _Wish]:
    return {s.name.lower(): (s.size, s.groups, s.image) for s in graph.services}


def _unlike(wanted: Mapping[str, _Wish], found: Mapping[str, _Wish]) -> list[str]:
    if len(wanted) == len(found) == 1:
        # A bare component's service is named by the component, or by a field of its own.
        wanted, found = ({"": wish} for wishes in (wanted, found) for wish in wishes.values())
    texts = [f"service {name} is gone" for name in sorted(wanted.keys() - found.keys())]
    texts += [f"service {name} is new" for name in sorted(found.keys() - wanted.keys())]
    for name in sorted(wanted.keys() & found.keys()):
        for what, mine, theirs in zip(_WORDS, wanted[name], found[name], strict=True):
            if mine != theirs:
                texts.append(f"{what}{' of ' + name if name else ''} is {theirs}, not {mine}")
    return texts


_WORDS = ("number of nodes", "number of replicas", "image")


def _lost(
    what: str, mine: Mapping[str, str], now: Mapping[str, str], reserved: tuple[str, ...]
) -> list[str]:
    return [
        f"{what} {key} is {'missing' if key not in now else repr(now[key])}, not {value!r}"
        for key, value in mine.items()
        if not key.startswith(reserved) and now.get(key) != value
    ]


def _finding(
    checkpoint: Checkpoint, root: Obj, verdict: Verdict, message: str, *, at: float
) -> Finding:
    return Finding(
        checker=CheckerName.FIDELITY,
        verdict=verdict,
        subject=subject(root),
        message=message,
        graph=root.name,
        step=checkpoint.steps[-1] if checkpoint.steps else "",
        first_at=at,
        last_at=at,
    )
