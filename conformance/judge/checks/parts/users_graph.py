"""The user's own object stays the user's: what a graph (or bare component) asks for, and the labels
and annotations that the user gave it, are not rewritten. What an operator adds of its own is its
affair, and so are keys with a reserved prefix. Part of `fidelity`."""

from collections.abc import Iterable, Iterator

from conformance.history.records import Step
from conformance.judge.case import Case, CasePoint
from conformance.judge.changes import Act
from conformance.judge.checks.parts.services import service_of, wish
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

_WORDS = ("number of nodes", "number of replicas", "image")
"""How the parts of a `Wish` are told."""


def users_graph(point: CasePoint) -> Iterator[Finding]:
    """What was taken from a graph or bare component until the checkpoint."""
    case = point.case
    for graph, root, _ in point.snapshot.wanted_roots:
        if root is None:
            continue
        if case.creator(root.uid) is Actor.OPERATOR:
            born = case.history.lives[root.uid].created_at or point.at
            whose = f"{noun(root)}, which is the user's"
            text = f"The operator made {whose}, anew: it is another object now"
            yield _finding(point, root, Verdict.VIOLATES, text, at=born)
        taken = list(_rewritten(point, root, _users_keys(case, graph.name)))
        yield from taken
        sent = (s for s in case.history.steps if s.target == root.name and s.sent_at <= point.at)
        if not taken and all(_plain(step) for step in sent):
            yield from _astray(point, root, graph)


def _plain(step: Step) -> bool:
    """False for a step after which the stored graph need not be what is meant: a dropped edit, an
    illegal one that was taken, or one whose answer does not tell whether it was stored."""
    if not asked(step) or answer_of(step).refused:
        return True
    return took(step) and ChangeKind.ILLEGAL not in step.kinds


def _users_keys(case: Case, name: str) -> set[str]:
    """The labels and annotations that the user ever gave the graph of that name."""
    graphs = [graph for point in case.points for graph in point.graphs]
    graphs += [g for s in case.history.steps for g in (s.before, s.after) if g is not None]
    return {key for g in graphs if g.name == name for key in (*g.labels, *g.annotations)}


def _rewritten(point: CasePoint, root: Obj, keys: set[str]) -> Iterator[Finding]:
    """Writes of others than the suite that took something. The API's answers say which revisions are
    the suite's own, so a write right after one of these has an author all the same."""
    case = point.case
    own = {step.revision_after for step in case.history.steps}
    for change in case.log.changes(point.begins, point.at):
        before = change.before
        others = change.obj.uid == root.uid and change.event.revision not in own
        if not others or before is None or change.act is not Act.CHANGED:
            continue
        taken = _taken(before, change.obj, keys, case.profile.labels.reserved)
        writers = case.log.writers(change) - {Actor.SUITE}
        if not taken or not writers:
            continue
        writer = next(iter(writers)) if len(writers) == 1 else Actor.UNKNOWN
        step = next((s.name for s in reversed(point.steps) if s.sent_at <= change.at), "")
        after = f" {seconds(change.at - point.begins)} after {step}" if step else ""
        text = f"{by(writer).capitalize()} rewrote {noun(root)}, which is the user's,{after}: "
        yield _finding(point, root, blame(writer), text + join(taken, most=4), at=change.at)


def _taken(before: Obj, after: Obj, keys: set[str], reserved: Iterable[str]) -> list[str]:
    old, new = intent(before), intent(after)
    found = [] if old is None or new is None else [*_unlike(old, new), *_thinned(old, new)]
    return found + _lost(before, after, keys, reserved)


def _thinned(old: Graph, new: Graph) -> Iterator[str]:
    for service in old.services:
        now = service_of(new, service.name)
        if now is None:
            continue
        pairs = {"container": (service.container, now.container), "pod": (service.pod, now.pod)}
        for what, (mine, theirs) in pairs.items():
            if not contains(mine, theirs):
                yield f"{what} of service {service.name}, which says less than it did"


def _astray(point: CasePoint, root: Obj, graph: Graph) -> Iterator[Finding]:
    """What the stored object does not say, whoever saw to that: a webhook changes the suite's write."""
    log, now = point.case.log, intent(root)
    if now is None:
        return
    found = _unlike(graph, now)
    keys = {*graph.labels, *graph.annotations}
    found += _lost(graph, root, keys, point.case.profile.labels.reserved)
    if found:
        changes = (one for one in log.changes(point.begins, point.at) if one.obj.uid == root.uid)
        authors = {actor for one in changes if one.weighs for actor in log.writers(one)}
        strangers = authors - {Actor.SUITE, Actor.OPERATOR}
        late = f"{seconds(point.at - point.checkpoint.since)} after the last change"
        text = f"{noun(root)} is no longer what the user wrote, {late}: {join(found, most=4)}"
        verdict = Verdict.UNKNOWN if strangers else Verdict.VIOLATES
        yield _finding(point, root, verdict, text, at=point.at)


def _unlike(mine: Graph, theirs: Graph) -> list[str]:
    wanted, found = (
        {one.name.lower(): wish(one) for one in graph.services} for graph in (mine, theirs)
    )
    if len(wanted) == len(found) == 1:
        # A bare component's service is named by the component, or by a field of its own.
        wanted, found = ({"": one} for wishes in (wanted, found) for one in wishes.values())
    texts = [f"service {name} is gone" for name in sorted(wanted.keys() - found.keys())]
    texts += [f"service {name} is new" for name in sorted(found.keys() - wanted.keys())]
    for name in sorted(wanted.keys() & found.keys()):
        of = f" of {name}" if name else ""
        rows = zip(_WORDS, wanted[name], found[name], strict=True)
        texts += [f"{what}{of} is {now}, not {was}" for what, was, now in rows if was != now]
    return texts


def _lost(mine: Graph | Obj, now: Obj, keys: set[str], reserved: Iterable[str]) -> list[str]:
    pairs = {"label": (mine.labels, now.labels), "annotation": (mine.annotations, now.annotations)}
    return [
        f"{what} {key} is {'missing' if key not in has else repr(has[key])}, not {value!r}"
        for what, (had, has) in pairs.items()
        for key, value in had.items()
        if key in keys and not key.startswith(tuple(reserved)) and has.get(key) != value
    ]


def _finding(point: CasePoint, root: Obj, verdict: Verdict, message: str, *, at: float) -> Finding:
    return finding(
        CheckerName.FIDELITY, verdict, root, message,
        graph=root.name, step=point.last_step, first_at=at, last_at=at,
    )  # fmt: skip
