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
        durations = [float(spec.get("leaseDurationSeconds") or DEFAULT_DURATION) for spec in stale]
        if time.monotonic() - began > min(max(durations) + _SPARE_SECONDS, within):
            break
        time.sleep(_POLL)
    return time.monotonic() - began


def _stale(deployed: Deployed) -> list[dict[str, Any]]:
    """Specs of Leases whose holder is named after a pod of this operator that does not live any more. A
    holder is the pod's name and something unique (controller-runtime, pkg/leaderelection)."""
    name = deployed.target.deployment
    prefix = name[:_PREFIX] + ("-" if len(name) < _PREFIX else "")
    specs = [lease.get("spec") or {} for lease in _leases(deployed)]
    held = [spec for spec in specs if str(spec.get("holderIdentity") or "").startswith(prefix)]
    if not held:
        return []
    alive = tuple(str(p["metadata"]["name"]) for p in deployed.pods() if not is_going(p))
    return [spec for spec in held if not spec["holderIdentity"].startswith(alive)]


def _leases(deployed: Deployed) -> list[dict[str, Any]]:
    """All that may be read: some operators keep theirs in kube-system."""
    for namespace in (None, deployed.target.namespace):
        answer = deployed.api.request("GET", LEASES.path(namespace))
        if answer.ok:
            return list(answer.body.get("items") or ())
    return []
