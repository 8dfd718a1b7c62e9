"""Which pod of an operator leads: leader election by Lease, as client-go does it."""

from __future__ import annotations

import time
from typing import Any

from conformance.operator.pods.deployed import Deployed, is_going
from conformance.operator.resources import LEASES

DEFAULT_DURATION = 15.0
"""Of a Lease that names none: client-go's and controller-runtime's default."""

_SPARE_SECONDS = 10.0
"""A candidate asks every 2 s or so, and first measures a whole duration from when it first saw the
Lease (client-go, leaderelection: observedTime)."""
_POLL = 0.3
_PREFIX = 50


def wait_for_leader(deployed: Deployed, *, within: float) -> float:
    """Until no Lease is held by a pod of this operator that is gone; the seconds that took.

    A Lease that nobody takes over in its own duration and some is of no use any more, so that this
    ends without an error: the operator may not elect a leader at all. Leases that cannot be read
    are not waited for.
    """
    began = time.monotonic()
    while stale := _stale(deployed):
        patience = max(_duration(lease) for lease in stale) + _SPARE_SECONDS
        if time.monotonic() - began > min(patience, within):
            break
        time.sleep(_POLL)
    return time.monotonic() - began


def _stale(deployed: Deployed) -> list[dict[str, Any]]:
    """Leases whose holder is named after a pod of this operator that does not live any more. A
    holder is the pod's name and something unique (controller-runtime, pkg/leaderelection)."""
    target = deployed.target
    prefix = target.deployment[:_PREFIX] + ("-" if len(target.deployment) < _PREFIX else "")
    leases = [
        lease
        for lease in _leases(deployed)
        if str(_spec(lease).get("holderIdentity") or "").startswith(prefix)
    ]
    if not leases:
        return []
    alive = tuple(str(p["metadata"]["name"]) for p in deployed.pods() if not is_going(p))
    return [lease for lease in leases if not _spec(lease)["holderIdentity"].startswith(alive)]


def _leases(deployed: Deployed) -> list[dict[str, Any]]:
    """All that may be read: some operators keep theirs in kube-system."""
    for namespace in (None, deployed.target.namespace):
        answer = deployed.api.request("GET", LEASES.path(namespace))
        if answer.ok:
            return list(answer.body.get("items") or ())
    return []


def _spec(lease: dict[str, Any]) -> dict[str, Any]:
    return lease.get("spec") or {}


def _duration(lease: dict[str, Any]) -> float:
    return float(_spec(lease).get("leaseDurationSeconds") or DEFAULT_DURATION)
