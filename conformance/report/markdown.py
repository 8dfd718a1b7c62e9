"""What a CI shows of a run: the report as Markdown (GitHub's dialect)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from conformance.report import concessions, files, terminal
from conformance.report.model import ConformanceReport, Summary

_SIGNS = {
    Summary.CONFORMS: "✅",
    Summary.PARTIAL: "⚠️",
    Summary.UNKNOWN: "❓",
    Summary.VIOLATES: "❌",
}


def summary(report: ConformanceReport, *, results: str) -> str:
    """The verdict, the table of features, the first sentence of each failure, and the next command.
    `results` is the folder that the command names."""
    shard = report.options.get("shard")
    share = f", shard {shard}" if shard else ""
    parts = [
        f"## {_SIGNS[report.verdict]} Conformance of {escape(report.operator.name)}{share}",
        f"**{escape(terminal.conclusion(report))}**",
        _table(report),
        _failures(report),
        f"Next:\n\n{_code(terminal.next_line(report, results=results))}",
        _concessions(report),
        _facts(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def of_folder(results: Path) -> str:
    """The summaries of all operators of a run. Raises UsageError if there is no report."""
    reports = [files.read(path) for path in files.find(results)]
    return "\n".join(summary(report, results=str(results)) for report in reports)


def outputs(results: Path) -> str:
    """Lines `name=value`, as a CI reads the outputs of a step: `verdict`, the worst of all operators'
    and `report`, the path of the (first) one. Raises UsageError if there is no report."""
    paths = files.find(results)
    found = {files.read(path).verdict for path in paths}
    worst = max(found, key=list(Summary).index)
    return f"verdict={worst}\nreport={paths[0]}\n"


def escape(text: str) -> str:
    """Text of others (names, messages of an API server) as plain text of a table cell or list."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # "@" would notify people, "#" link issues, where the summary is copied into a comment.
    text = re.sub(r"([\\`*_{}\[\]|~])", r"\\\1", text)
    return re.sub(r"([@#])(?=\w)", r"\1<!-- -->", text)


def _code(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _table(report: ConformanceReport) -> str:
    cases = terminal.chosen(report.cases)
    if not any(case.not_run is None for case in cases):
        return ""
    head, *rows = terminal.grid(cases)
    lines = [_row(head), _row(["---", *(["--:"] * (len(head) - 2)), "---"])]
    return "\n".join([*lines, *(_row(row) for row in rows)])


def _row(cells: Sequence[terminal.Cell]) -> str:
    texts = [escape(str(cell).replace("\n", ", ")) for cell in cells]
    return f"| {' | '.join(texts)} |"


def _failures(report: ConformanceReport) -> str:
    listed = terminal.gating(report.cases)
    lines = [
        f"- **{escape(word)}** {escape(who)}: {escape(sentence)}"
        for word, who, sentence in listed[: terminal.MOST_FAILURES]
    ]
    more = len(listed) - terminal.MOST_FAILURES
    if more > 0:
        lines.append(f"- … and {more} more; all are in report.yaml")
    return "\n".join(lines)


def _concessions(report: ConformanceReport) -> str:
    """The line, and behind it every one of them."""
    line = concessions.line(report)
    if not report.concessions:
        return escape(line)
    rows = [_row([one.kind.noun, one.what, one.reason]) for one in report.concessions]
    head = [_row(["concession", "what", "reason"]), _row(["---", "---", "---"])]
    return "\n".join(
        ["<details>", f"<summary>{escape(line)}</summary>", "", *head, *rows, "", "</details>"]
    )


def _facts(report: ConformanceReport) -> str:
    facts = {"cluster": report.cluster, **report.versions, **report.options}
    told = ", ".join(f"{name} {value}" for name, value in facts.items() if value)
    return f"<sub>{escape(told)}</sub>" if told else ""
