"""A judgement as a person reads it: one sentence, then the evidence."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

from conformance.evidence import diff, reproduce, tables, timeline
from conformance.evidence.excerpt import Excerpt, excerpt_of
from conformance.evidence.known import known_failure
from conformance.history.history import History
from conformance.history.records import CheckpointEnd
from conformance.judge.verdict import Judgement
from conformance.model.verdict import Finding, Verdict

TIMELINE_LINES = 40
DIFF_LINES = 60
LOG_LINES = 25
"""How much of each section a terminal shows; attachments hold all of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """One piece of evidence: `text` is complete, `brief` what a terminal shows below the title."""

    title: str
    text: str
    brief: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Why a case got its verdict: the `sentence` of the first gating finding, and all `findings`."""

    sentence: str
    findings: tuple[Finding, ...]
    sections: tuple[Section, ...]
    history_path: str = ""

    @property
    def text(self) -> str:
        """What the terminal shows of a case that does not conform."""
        parts = [self.sentence]
        others = [f"  {f.checker} ({f.verdict}): {f.message}" for f in self.findings[1:]]
        if others:
            parts.append("\n".join(["Also:", *others]))
        parts += [f"{section.title}\n{section.brief}" for section in self.sections if section.brief]
        if self.history_path:
            parts.append(f"The whole history: {self.history_path}")
        return "\n\n".join(parts)


def explain(history: History, judgement: Judgement, *, history_path: str = "") -> Explanation:
    """The explanation of a judged case. `history_path` is printed as it is given."""
    case, profile = history.header.case, history.profile
    # What is not known comes before what is, and violations before unknowns.
    findings = sorted(
        (finding for finding in judgement.findings if finding.gates),
        key=lambda f: (bool(known_failure(profile, case, f)), -f.verdict.rank),
    )
    excerpt = excerpt_of(history, findings[0] if findings else None)
    return Explanation(
        sentence=findings[0].message if findings else _without_finding(history, judgement, excerpt),
        findings=tuple(findings),
        sections=tuple(_sections(history, excerpt, findings)),
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


def _sections(history: History, excerpt: Excerpt, findings: list[Finding]) -> Iterator[Section]:
    before, after = tables.before_and_after(history, excerpt)
    for title, text in (("Tables before", before), ("Tables after", after)):
        yield Section(title=title, text=text, brief=_indented(text))
    told = partial(timeline.render, history, excerpt)
    yield _limited("Timeline (seconds after the API's answer)", told, TIMELINE_LINES)
    # Rendering the difference is what costs most, and without findings nobody looks for a fault.
    if findings:
        yield _limited("What changed", partial(diff.render, history, excerpt, findings), DIFF_LINES)
        log = partial(timeline.log, history, excerpt)
        yield _limited("The operator's log of that time", log, LOG_LINES)
    script = reproduce.script(history)
    # Not indented, so that it can be pasted: an indented here-document would never end.
    yield Section(title="Reproduce with kubectl", text=script, brief=script.rstrip("\n"))


def _limited(title: str, render: Callable[..., str], limit: int) -> Section:
    return Section(title=title, text=render(), brief=_indented(render(limit=limit)))


def _indented(text: str) -> str:
    return "\n".join(f"  {line}" if line else "" for line in text.rstrip("\n").split("\n"))
