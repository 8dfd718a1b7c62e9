"""Leases that the operator made and left. Leases are not recorded as objects (a heartbeat every few
seconds), so the audit log alone tells of them: who made one, who renewed it, who deleted it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from conformance.history.records import Write
from conformance.judge.authors import actor_of_user
from conformance.judge.case import Case
from conformance.judge.findings import finding
from conformance.judge.run.storms import LEASES
from conformance.model.bounds import LEASE_UNUSED
from conformance.model.kinds import Actor
from conformance.model.verdict import CheckerName, Finding, Verdict


def left_leases(case: Case, owned: Collection[str], checker: CheckerName) -> Iterator[Finding]:
    """A finding for each Lease that the operator made during the run and nobody deleted. Outside the
    suite's namespaces (`owned`) one that is still renewed is in use, as a leader's is."""
    end = case.points[-1].at
    writes: dict[tuple[str, str], list[Write]] = defaultdict(list)
    for write in case.history.writes:
        if write.resource == LEASES and 200 <= write.code < 300:
            writes[write.namespace, write.name].append(write)
    for (namespace, name), seen in writes.items():
        made = next((w for w in reversed(seen) if w.verb == "create" or w.code == 201), None)
        if not name or made is None or case.profile.retains("Lease", name):
            continue
        if made.at < case.history.header.started_at or not _of_operator(case, made):
            continue
        if _deleted(seen, writes.get((namespace, ""), ()), made):
            continue
        unused = end - seen[-1].at
        if namespace not in owned and seen[-1] is not made and unused < LEASE_UNUSED:
            continue
        yield finding(
            checker, Verdict.VIOLATES, f"Lease/{name}",
            f"Lease {name}, created in namespace {namespace} by the operator during the run, was "
            f"deleted by nobody and last renewed {unused:.0f} s before the end, and the profile does "
            "not list it under `retained`",
            first_at=made.at, last_at=end,
        )  # fmt: skip


def _of_operator(case: Case, write: Write) -> bool:
    return actor_of_user(case.history.header, write.user) is Actor.OPERATOR


def _deleted(seen: Collection[Write], swept: Collection[Write], made: Write) -> bool:
    """True if it was deleted after it was made, by its name or with all of its namespace."""
    by_name = any(write.verb == "delete" and write.at >= made.at for write in seen)
    together = any(w.verb == "deletecollection" and w.at >= made.at for w in swept)
    return by_name or together
