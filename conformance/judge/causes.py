"""Who wrote above an object: the one question behind every lost pod and every changed child."""

from collections.abc import Iterable

from conformance.judge.case import Case, Window
from conformance.judge.changes import Change
from conformance.model.kinds import Actor, of_platform


def causes(case: Case, uids: Iterable[str], window: Window) -> list[tuple[Change, Actor]]:
    """Writes of the operator to these objects or to anything above them, and writes of nobody known
    to what is not the platform's, oldest first. What the platform made by itself (an eviction, a
    node that went silent) proves nothing."""
    chain = {obj.uid for uid in uids for obj in case.lineage.chain(uid)}
    found = []
    for change in case.log.changes(window.start, window.end):
        if change.obj.uid not in chain or not change.weighs:
            continue
        writer = case.log.writer(change)
        unclear = writer is Actor.UNKNOWN and not of_platform(change.obj)
        if writer is Actor.OPERATOR or unclear:
            found.append((change, writer))
    return found
