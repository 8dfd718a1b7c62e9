"""A judgement as a person reads it: one sentence, then the evidence."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from conformance.evidence import diff, logs, reproduce, tables, timeline
from conformance.evidence.excerpt import Excerpt, excerpt_of
from conformance.evidence.known import known_failure
from conformance.history.history import History
from conformance.history.records import CheckpointEnd
from conformance.model.verdict import Finding, Verdict

if TYPE_CHECKING:
    from conformance.judge.verdict import Judgement

TIMELINE_LINES = 40
DIFF_LINES = 60
LOG_LINES = 25
"""How much of each section a terminal shows; attachments hold all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One piece of evidence. `text` is complete, `brief` fits a terminal; `name` is its file name.

    `pasted` text is printed without indentation: an indented here-document would never end.
    """

    name: str
    title: str
    text: str
    brief: str
    pasted: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a case got its verdict.

    `sentence` is the message of the first gating finding, `findings` all gating ones, worst first.
    """

    verdict: Verdict
    sentence: str
    findings: tuple[Finding, ...]
    sections: tuple[Section, ...]
    history_path: str = ""

    @property
    def text(self) -> str:
        """What the terminal shows of a case that does not conform."""
        parts = [self.sentence]
        others = self.findings[1:]
        if others:
            lines = (f"  {f.checker} ({f.verdict}): {f.message}" for f in others)
            parts.append("\n".join(["Also:", *lines]))
        for section in self.sections:
            if section.brief:
                body = section.brief.rstrip("\n") if section.pasted else _indented(section.brief)
                parts.append(f"{section.title}\n{body}")
        if self.history_path:
            parts.append(f"The whole history: {self.history_path}")
        return "\n\n".join(parts)


def gating(history: History, judgement: Judgement) -> list[Finding]:
    """The findings that keep the case from conforming, those that are not known first, and violations
    before unknowns."""
    found = [f for result in judgement.results for f in result.findings if f.gates]
    case, profile = history.header.case, history.profile
    return sorted(found, key=lambda f: (bool(known_failure(profile, case, f)), -f.verdict.rank))


def explain(history: History, judgement: Judgement, *, history_path: str = "") -> Explanation:
    """The explanation of a judged case. `history_path` is printed as it is given."""
    findings = gating(history, judgement)
    excerpt = excerpt_of(history, findings[0] if findings else None)
    return Explanation(
        verdict=judgement.verdict,
        sentence=findings[0].message if findings else _without_finding(history, judgement, excerpt),
        findings=tuple(findings),
        sections=_sections(history, excerpt, findings),
        history_path=history_path,
    )


def _without_finding(history: History, judgement: Judgement, excerpt: Excerpt) -> str:
    case = history.header.case
    if judgement.verdict is not Verdict.CONFORMS:
        return f"{case}: nothing was judged, so nothing is proven"
    outcomes = ", ".join(f"{name} {outcome}" for name, outcome in judgement.outcomes.items())
    end = excerpt.checkpoint
    held = f", held for {end.hold:g} s" if end and end.end is CheckpointEnd.HELD else ""
    return f"{case} conforms: {outcomes or 'nothing changed'}{held}"


def _sections(history: History, excerpt: Excerpt, findings: list[Finding]) -> tuple[Section, ...]:
    before, after = tables.before_and_after(history, excerpt)
    script = reproduce.script(history)
    told = (
        Section(name="before.txt", title="Tables before", text=before, brief=before),
        Section(name="after.txt", title="Tables after", text=after, brief=after),
        Section(
            name="timeline.txt",
            title="Timeline (seconds after the API's answer)",
            text=timeline.render(history, excerpt),
            brief=timeline.render(history, excerpt, limit=TIMELINE_LINES),
        ),
        Section(
            name="reproduce.sh",
            title="Reproduce with kubectl",
            text=script,
            brief=script,
            pasted=True,
        ),
    )
    if not findings:
        # Rendering the difference is what costs most, and nobody looks for a fault here.
        return told
    return (
        *told[:-1],
        Section(
            name="objects.diff",
            title="What changed",
            text=diff.render(history, excerpt, findings),
            brief=diff.render(history, excerpt, findings, limit=DIFF_LINES),
        ),
        Section(
            name="operator.log",
            title="The operator's log of that time",
            text=logs.render(history, excerpt),
            brief=logs.render(history, excerpt, limit=LOG_LINES),
        ),
        told[-1],
    )


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.rstrip("\n").split("\n"))
