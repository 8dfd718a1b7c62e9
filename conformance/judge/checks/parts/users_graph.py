"""The user's own object stays the user's: what a graph (or bare component) asks for, and the labels
and annotations that the user gave it, are not rewritten.

Part of `fidelity`: an operator that takes `multinode` out of the graph again agrees with itself in
everything else. What it adds of its own (annotations, finalizers, defaults) is its affair, and so are
keys with a reserved prefix.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conformance.history.records import Step
from conformance.judge.case import Case, CasePoint
from conformance.judge.changes import Act, Change
from conformance.judge.compare.values import contains
from conformance.judge.findings import blame, finding
from conformance.judge.intent import intent
from conformance.judge.steps import answer_of, asked, took
from conformance.judge.wording import by, join, noun, seconds
from conformance.model.graph import Graph
from conformance.model.kinds import Actor
from conformance.model.state import Obj
from conformance.model.transition import ChangeKind
from conformance.model.verdict import CheckerName, Finding, Verdict

_Wish = tuple[int, int, str]


def users_graph(case: Case, point: CasePoint) -> Iterator[Finding]:
    """What was taken from a graph or bare component until the checkpoint."""
    for graph, root, _ in point.snapshot.wanted_roots:
        if root is None:
            continue
        yield from _made_again(case, point, root)
        taken = list(_rewritten(case, point, root, _users_keys(case, graph.name)))
        yield from taken
        sent = (s for s in case.history.steps if s.target == root.name and s.sent_at <= point.at)
        if not taken and all(_plain(step) for step in sent):
            yield from _astray(case, point, root, graph)


def _made_again(case: Case, point: CasePoint, root: Obj) -> Iterator[Finding]:
    """The user's object is another one, which the operator made under the name."""
    if case.creator(root.uid) is Actor.OPERATOR:
        born = case.history.lives[root.uid].created_at
        text = (
            f"The operator made {noun(root)}, which is the user's, anew: it is another object now"
        )
        yield _finding(point, root, Verdict.VIOLATES, text, at=born or point.at)


def _plain(step: Step) -> bool:
    """False for a step after which the stored graph need not be what is meant: an edit that the API
    dropped, an illegal one that it took, or one whose answer does not tell whether it was stored."""
    if not asked(step) or answer_of(step).refused:
        return True
    return took(step) and ChangeKind.ILLEGAL not in step.kinds


def _users_keys(case: Case, name: str) -> set[str]:
    """The labels and annotations that the user ever gave the graph of that name."""
    graphs = [graph for point in case.points for graph in point.graphs]
    graphs += [g for s in case.history.steps for g in (s.before, s.after) if g is not None]
    return {key for g in graphs if g.name == name for key in (*g.labels, *g.annotations)}


def _rewritten(case: Case, point: CasePoint, root: Obj, keys: set[str]) -> Iterator[Finding]:
    """Writes of others than the suite that took something. The API's answers say which revisions are
    the suite's own, so a write right after one of these has an author all the same."""
    own = {step.revision_after for step in case.history.steps}
    for change in case.log.changes(point.begins, point.at):
        if change.obj.uid != root.uid or change.event.revision in own:
            continue
        taken = _taken(change, keys, _reserved(case))
        writers = case.log.writers(change) - {Actor.SUITE}
        if not taken or not writers:
            continue
        writer = next(iter(writers)) if len(writers) == 1 else Actor.UNKNOWN
        step = next((s.name for s in reversed(point.steps) if s.sent_at <= change.at), "")
        after = f" {seconds(change.at - point.begins)} after {step}" if step else ""
        yield _finding(
            point, root, blame(writer),
            f"{by(writer).capitalize()} rewrote {noun(root)}, which is the user's,{after}: "
            f"{join(taken, most=4)}",
            at=change.at,
        )  # fmt: skip


def _taken(change: Change, keys: set[str], reserved: tuple[str, ...]) -> list[str]:
    before, after = change.before, change.obj
    if before is None or change.act is not Act.CHANGED:
        return []
    old, new = intent(before), intent(after)
    found = []
    if old is not None and new is not None:
        found = [*_unlike(_wishes(old), _wishes(new)), *_thinned(old, new)]
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


def _astray(case: Case, point: CasePoint, root: Obj, graph: Graph) -> Iterator[Finding]:
    """What the stored object no longer says, whoever saw to that: a webhook changes the suite's own
    write."""
    now = intent(root)
    if now is None:
        return
    reserved = _reserved(case)
    found = _unlike(_wishes(graph), _wishes(now))
    found += _lost("label", graph.labels, root.labels, reserved)
    found += _lost("annotation", graph.annotations, root.annotations, reserved)
    if not found:
        return
    authors = {
        actor
        for change in case.log.changes(point.begins, point.at)
        if change.obj.uid == root.uid and change.weighs
        for actor in case.log.writers(change)
    }
    strangers = authors - {Actor.SUITE, Actor.OPERATOR}
    yield _finding(
        point, root, Verdict.UNKNOWN if strangers else Verdict.VIOLATES,
        f"{noun(root)} is no longer what the user wrote, "
        f"{seconds(point.at - point.checkpoint.since)} after the last change: {join(found, most=4)}",
        at=point.at,
    )  # fmt: skip


def _reserved(case: Case) -> tuple[str, ...]:
    return tuple(case.profile.labels.reserved)


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


def _finding(point: CasePoint, root: Obj, verdict: Verdict, message: str, *, at: float) -> Finding:
    return finding(
        CheckerName.FIDELITY, verdict, root, message,
        graph=root.name, step=point.last_step, first_at=at, last_at=at,
    )  # fmt: skip
