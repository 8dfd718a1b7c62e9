"""Concessions: everything in a profile by which less is judged, or more allowed, than without it.

A generous profile can make a bad operator pass, so concessions are listed with the verdict.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from conformance.judge.wording import count
from conformance.model.children import LabelNames
from conformance.model.exemptions import ServiceClass, StatusNames
from conformance.model.features import Feature
from conformance.model.profile import Profile
from conformance.model.promises import Promise
from conformance.report.model import Concession, ConcessionKind, ConformanceReport


def concessions(profile: Profile) -> list[Concession]:
    """Every concession of the profile, in the order of their kinds."""
    return [Concession(kind=k, what=what, reason=reason) for k, what, reason in _all(profile)]


def _all(profile: Profile) -> Iterator[tuple[ConcessionKind, str, str]]:
    kind = ConcessionKind
    for retained in profile.retained:
        yield kind.RETAINED, f"{retained.kind} {retained.name}", retained.reason
    for mask in profile.masks:
        where = "" if mask.kind == "*" else f"{mask.kind} "
        yield kind.MASK, f"{where}{mask.path}", mask.reason
    for field in profile.fidelity_exceptions:
        shape = "" if field.shape == "both" else f" ({field.shape})"
        yield kind.FIDELITY_EXCEPTION, f"{field.field}{shape}", field.reason
    for rule in profile.services:
        if rule.use is not ServiceClass.COMPONENT:
            labels = (f"{name}={value}" for name, value in sorted(rule.labels.items()))
            what = " ".join(filter(None, [rule.use, rule.name, *labels]))
            yield kind.SERVICE_RULE, what, rule.reason
    for rollout in profile.rollouts:
        what = f"{'.'.join(rollout.path)} is {' or '.join(rollout.values)}"
        yield kind.ROLLOUT, f"{what}, for {rollout.bound:g} s", ""
    for word in profile.refusal_words:
        yield kind.REFUSAL_WORD, word, ""
    for prefix in profile.labels.reserved:
        if prefix not in LabelNames().reserved:
            yield kind.RESERVED_LABEL, prefix, ""
    default, own = StatusNames(), profile.status
    if own.ready_condition != default.ready_condition:
        what = f"condition {own.ready_condition} is read for {default.ready_condition}"
        yield kind.STATUS, what, ""
    for name in default.service_maps:
        if name not in own.service_maps:
            yield kind.STATUS, f"status.{name} is not read", own.reason
    for name, promise in profile.promises:
        if promise is Promise.EITHER:
            yield kind.EITHER_PROMISE, name, ""
    for feature in Feature:
        if not profile.supports(feature):
            yield kind.UNDECLARED_FEATURE, feature, profile.excuse(feature)
    for failure in profile.known_failures:
        sometimes = ", sometimes" if failure.sometimes else ""
        what = f"{failure.checker} of {failure.subject} in {failure.case}{sometimes}"
        yield kind.KNOWN_FAILURE, what, failure.link


def counted(found: Iterable[Concession]) -> str:
    """How many there are of each kind: `3 retained objects, 1 mask`; empty if there is none."""
    counts = Counter(one.kind for one in found)
    return ", ".join(count(counts[kind], kind.noun) for kind in ConcessionKind if counts[kind])


def line(report: ConformanceReport) -> str:
    """What the profile concedes, in one line; empty if the report does not identify its profile."""
    if not report.profile_sha256 and not report.concessions:
        return ""
    digest = f" (sha256 {report.profile_sha256[:12]}…)" if report.profile_sha256 else ""
    return f"the profile{digest} concedes {counted(report.concessions) or 'nothing'}"


def environment(report: ConformanceReport) -> dict[str, str]:
    """Concessions by kind, for tools that show pairs: `concessions.mask` → `status.x (reason)`."""
    found = {"profile.sha256": report.profile_sha256} if report.profile_sha256 else {}
    for kind in ConcessionKind:
        own = [str(one) for one in report.concessions if one.kind is kind]
        if own:
            found[f"concessions.{kind}"] = "; ".join(own)
    return found
