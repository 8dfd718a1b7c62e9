"""A report as Markdown (GitHub's dialect), for the page of a CI run."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from conformance.report import concessions, files
from conformance.report.conclusion import conclusion, failures, next_command
from conformance.report.model import ConformanceReport, Summary
from conformance.report.table import chosen, grid

_SIGNS = {
    Summary.CONFORMS: "✅",
    Summary.PARTIAL: "⚠️",
    Summary.UNKNOWN: "❓",
    Summary.VIOLATES: "❌",
}


def summary(report: ConformanceReport, *, results: str) -> str:
    """The verdict, the table of features, the sentence of each failure, and the next command, which
    names the folder `results`."""
    shard = report.options.get("shard")
    share = f", shard {shard}" if shard else ""
    parts = [
        f"## {_SIGNS[report.verdict]} Conformance of {escape(report.operator.name)}{share}",
        f"**{escape(conclusion(report))}**",
        _table(report),
        _failures(report),
        f"Next:\n\n{_code(next_command(report, results=results))}",
        _concessions(report),
        _facts(report),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def of_folder(results: Path) -> str:
    """The summaries of all operators of a run. Raises UsageError if there is no report."""
    reports = [files.read(path) for path in files.find(results)]
    return "\n".join(summary(report, results=str(results)) for report in reports)


def outputs(results: Path) -> str:
    """Lines `name=value`, as a CI reads the outputs of a step: `verdict`, the worst of all operators,
    and `report`, the path of the first one. Raises UsageError if there is no report."""
    paths = files.find(results)
    found = {files.read(path).verdict for path in paths}
    worst = max(found, key=list(Summary).index)
    return f"verdict={worst}\nreport={paths[0]}\n"


def escape(text: str) -> str:
    """Foreign text (names, messages of an API server) as plain text of a table cell or list."""
    text = " ".join(text.split()).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # "@" would notify people, "#" link issues, where the summary is copied into a comment.
    text = re.sub(r"([\\`*_{}\[\]|~])", r"\\\1", text)
    return re.sub(r"([@#])(?=\w)", r"\1<!-- -->", text)


def _code(text: str) -> str:
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}\n{text}\n{fence}"


def _table(report: ConformanceReport) -> str:
    cases = chosen(report.cases)
    if not any(case.not_run is None for case in cases):
        return ""
    head, *rows = grid(cases)
    lines = [_row(head), _row(["---", *(["--:"] * (len(head) - 2)), "---"])]
    return "\n".join([*lines, *(_row(row) for row in rows)])


def _row(cells: Sequence[str]) -> str:
    texts = [escape(cell.replace("\n", ", ")) for cell in cells]
    return f"| {' | '.join(texts)} |"


def _failures(report: ConformanceReport) -> str:
    listed, more = failures(report.cases)
    lines = [f"- **{escape(word)}** {escape(who)}: {escape(why)}" for word, who, why in listed]
    return "\n".join([*lines, *([f"- {more}"] if more else [])])


def _concessions(report: ConformanceReport) -> str:
    """A line that counts the concessions, and behind it a table of them."""
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
