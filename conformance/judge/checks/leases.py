"""Leases that the operator made and left. Leases are not recorded as objects (a heartbeat every few
seconds), so the audit log alone tells of them: who made one, who renewed it, who deleted it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection

from conformance.history.history import History
from conformance.history.records import Write
from conformance.judge.checks.storms import LEASES
from conformance.judge.state.writes import actor_of_user
from conformance.model.kinds import Actor
from conformance.model.verdict import CheckerName, Finding, Verdict

# A Lease that nobody renewed for so long (s) is held by nobody: the longest common duration is 15 s
# for leaders and 40 s for nodes.
_UNUSED = 60.0


def left_leases(history: History, owned: Collection[str], checker: CheckerName) -> list[Finding]:
    """A finding for each Lease that the operator made during the run and nobody deleted. Outside the
    suite's namespaces (`owned`) one that is still renewed is in use, as a leader's is."""
    end = history.checkpoints[-1].at
    writes: dict[tuple[str, str], list[Write]] = defaultdict(list)
    for write in history.writes:
        if write.resource == LEASES and 200 <= write.code < 300:
            writes[write.namespace, write.name].append(write)
    found = []
    for (namespace, name), seen in writes.items():
        made = next((w for w in reversed(seen) if _creates(w)), None)
        if not name or made is None or made.at < history.header.started_at:
            continue
        if actor_of_user(history.header, made.user) is not Actor.OPERATOR:
            continue
        swept = [w for w in writes.get((namespace, ""), ()) if w.verb == "deletecollection"]
        if any(w.verb == "delete" and w.at >= made.at for w in seen):
            continue
        if any(w.at >= made.at for w in swept):
            continue
        if namespace not in owned and seen[-1] is not made and end - seen[-1].at < _UNUSED:
            continue
        found.append(
            Finding(
                checker=checker,
                verdict=Verdict.VIOLATES,
                subject=f"Lease/{name}",
                message=f"Lease {name}, created in namespace {namespace} by the operator during the "
                f"run, was deleted by nobody and last renewed {end - seen[-1].at:.0f} s before the "
                "end, and the profile does not list it under `retained`",
                first_at=made.at,
                last_at=end,
            )
        )
    return found


def _creates(write: Write) -> bool:
    return write.verb == "create" or write.code == 201
