"""Into Allure: labels, a step for each transition and each checker, attachments.

The only module that imports allure; every call is a no-op without `--alluredir`. `allure_case` is
called once from inside a pytest test (its call phase), before Violation or InfraError is raised: Allure
counts an AssertionError as failed (the product is wrong), any other error as broken.
"""

import json
import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import allure
import allure_commons

from conformance.evidence import timeline_svg
from conformance.evidence.excerpt import checkpoint_of, matched_after
from conformance.evidence.explain import Explanation
from conformance.evidence.timeline import describe_step
from conformance.history.history import History
from conformance.history.records import CheckpointEnd, Step
from conformance.judge.findings import CheckResult
from conformance.judge.verdict import Judgement
from conformance.model.errors import InfraError, Violation
from conformance.model.verdict import Outcome, Verdict

# allure ships without annotations.
_dynamic: Any = allure.dynamic
_attach: Any = allure.attach
_types: Any = allure.attachment_type

KNOWN_MARK = "known failure"
"""Begins the reason of an expected failure (xfail); its category is found by it."""

# The first part of a feature's name → how bad a failure is; anything else is normal.
_SEVERITIES = dict.fromkeys(("add", "remove", "count", "delete", "component"), "critical")
_SEVERITIES["idle"] = "minor"
# In Allure 3 the first that matches wins, so the narrowest comes first.
_CATEGORIES: list[dict[str, Any]] = [
    {
        "name": "Known failure",
        "description": "The operator's profile lists it with a link; the report is partial.",
        "matchedStatuses": ["skipped"],
        "messageRegex": f"(?s).*{KNOWN_MARK}.*",
    },
    {
        "name": "Operator violates",
        "description": "The recorded history proves that the operator is wrong.",
        "matchedStatuses": ["failed"],
    },
    {
        "name": "Could not tell",
        "description": "The suite or the platform under it failed, so nothing is proven.",
        "matchedStatuses": ["broken"],
    },
]
_NO_OUTCOME = {Outcome.FAILED: Violation, Outcome.INCONCLUSIVE: InfraError}


def active() -> bool:
    """True with `--alluredir`, so that rendering is worth its time."""
    return _listener() is not None


def allure_case(
    history: History, judgement: Judgement, explanation: Explanation, *, second_look: bool = False
) -> None:
    """Describe a judged case in the Allure result of the running test. `second_look`: it could not be
    decided beside others."""
    if not active():
        return
    header = history.header
    _dynamic.epic("DGD operator conformance")
    _dynamic.feature(header.feature)
    _dynamic.story(header.title or header.case)
    _dynamic.title(header.case)
    _dynamic.description(explanation.sentence)
    _dynamic.severity(_SEVERITIES.get(header.feature.partition("-")[0], "normal"))
    _dynamic.label("operator", header.operator)
    _dynamic.tag(str(judgement.verdict))
    if second_look:
        _dynamic.tag("second look")
    # historyId hashes the values of parameters without their names. The case and the operator make
    # it unique; what differs in each run is excluded (allure-python#778).
    _dynamic.parameter("case", header.case)
    _dynamic.parameter("operator", header.operator)
    _dynamic.parameter("namespace", header.namespace, excluded=True)
    for step in history.steps:
        _transition(history, step, judgement.outcomes.get(step.name))
    for result in judgement.results:
        _checker(result)
    _attachments(history, explanation)


def _transition(history: History, step: Step, outcome: Outcome | None) -> None:
    checkpoint = checkpoint_of(history, step.name)
    after = matched_after(step, checkpoint)
    title = describe_step(step) + (f" → {outcome}" if outcome else "")
    spans = [("request", step.sent_at, step.answered_at)]
    if checkpoint is not None:
        bound = f"(deadline {checkpoint.deadline:g} s)"
        if after is None:
            spans.append((f"never matched {bound}", step.answered_at, checkpoint.at))
        else:
            answer = "refused request" if step.code and not step.accepted else "answer"
            held = checkpoint.end is CheckpointEnd.HELD
            ended = f"held for {checkpoint.hold:g} s" if held else "matched"
            title += f", matched {after:.1f} s after the {answer}" + (f", {ended}" if held else "")
            reached = step.answered_at + after
            spans += [
                (f"waiting for the state to match {bound}", step.answered_at, reached),
                (ended, reached, checkpoint.at),
            ]
    problem = _NO_OUTCOME.get(outcome) if outcome and step.judged else None
    _step(
        title,
        started=step.sent_at,
        stopped=checkpoint.at if checkpoint else step.answered_at,
        error=problem(f"{step.name} ended as {outcome}") if problem else None,
        children=spans,
    )


def _checker(result: CheckResult) -> None:
    gating = [finding for finding in result.findings if finding.gates]
    reported = [(f.message, 0.0, 0.0) for f in result.findings if not f.gates]
    violates = any(finding.verdict is Verdict.VIOLATES for finding in gating)
    problem = Violation if violates else InfraError
    blind = f" ({result.blind})" if result.blind else ""
    _step(
        f"checker {result.checker}: {result.verdict or 'does not apply'}{blind}",
        error=problem("\n".join(finding.message for finding in gating)) if gating else None,
        children=reported,
    )


def _step(
    title: str,
    *,
    started: float = 0.0,
    stopped: float = 0.0,
    error: Exception | None = None,
    children: Iterable[tuple[str, float, float]] = (),
) -> None:
    """One Allure step with the times of the history (seconds since the epoch; 0: the real ones)."""
    context = allure.step(title)
    # The error only gives the step its status; the case raises its own once, at the end.
    with suppress(Violation, InfraError), context:
        # allure.step knows only the present time, and the judgement comes later than what it judges.
        # So the step's own record gets the recorded times.
        item = _listener().allure_logger.get_item(context.uuid)
        for text, child_start, child_stop in children:
            _step(text, started=child_start, stopped=child_stop)
        if error is not None:
            raise error
    if started:
        item.start, item.stop = int(started * 1000), int(stopped * 1000)


def _listener() -> Any:
    plugins = allure_commons.plugin_manager.get_plugins()
    return next(
        (p for p in plugins if hasattr(p, "allure_logger") and hasattr(p, "start_step")), None
    )


def _attachments(history: History, explanation: Explanation) -> None:
    svg = timeline_svg.render(history, explanation.findings)
    _attach(svg, "Timeline (drawn)", _types.SVG)
    for section in explanation.sections:
        if section.text:
            _attach(section.text, section.title, _types.TEXT)
    path = Path(explanation.history_path)
    if path.is_file():
        _attach.file(str(path), f"History ({path.name})", extension="jsonl.zst")


def write_run_files(results: Path, *, environment: Mapping[str, str]) -> None:
    """Write environment.properties and categories.json into an Allure results folder; allure-pytest
    writes neither. For the controller alone, at the end. Raises OSError."""
    results.mkdir(parents=True, exist_ok=True)
    lines = [f"{_escaped(key, key=True)}={_escaped(value)}" for key, value in environment.items()]
    (results / "environment.properties").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (results / "categories.json").write_text(json.dumps(_CATEGORIES, indent=2) + "\n")


def _escaped(text: str, *, key: bool = False) -> str:
    """As java.util.Properties reads it; in keys, spaces, `=` and `:` have a meaning too."""
    text = str(text).replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
    return re.sub("([ =:#!])", r"\\\1", text) if key else text
