"""Known failures that the profile lists. Each matches by case, checker and subject."""

import re
from collections.abc import Iterable

from conformance.model.exemptions import KnownFailure
from conformance.model.profile import Profile
from conformance.model.verdict import Finding, Verdict


def _matches(pattern: str, text: str) -> bool:
    # Case ids hold square brackets, which fnmatch would read as sets; only `*` is a wildcard here.
    regex = ".*".join(re.escape(part) for part in pattern.split("*"))
    return re.fullmatch(regex, text) is not None


def known_failure(profile: Profile, case: str, finding: Finding) -> KnownFailure | None:
    """The entry of the profile that this gating finding is, or None."""
    # An entry must not excuse what could not be judged, such as a gap.
    if finding.verdict is not Verdict.VIOLATES:
        return None
    for failure in profile.known_failures:
        if (
            failure.checker is finding.checker
            and _matches(failure.case, case)
            and _matches(failure.subject, finding.subject)
        ):
            return failure
    return None


def unexpected_passes(
    profile: Profile, case: str, findings: Iterable[Finding], *, race: bool, judged: bool = True
) -> list[KnownFailure]:
    """Entries for this case that no finding matches. `sometimes` excuses only a race; a case that was
    not fully judged (`judged` False) excuses all."""
    if not judged:
        return []
    shown = [known_failure(profile, case, finding) for finding in findings]
    return [
        failure
        for failure in profile.known_failures
        if _matches(failure.case, case)
        and failure not in shown
        and not (failure.sometimes and race)
    ]
