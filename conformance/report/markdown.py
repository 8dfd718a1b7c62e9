"""A report as Markdown (GitHub's dialect), for the page of a CI run."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from conformance.report import concessions, files
from conformance.report.model import ConformanceReport, Summary
from conformance.report.table import chosen, grid
from conformance.report.terminal import conclusion, failures, next_command, second_looks

_SIGNS = {
    Summary.CONFORMS: "✅",
    Summary.PARTIAL: "⚠️",
    Summary.UNKNOWN: "❓",
    Summary.VIOLATES: "❌",
}


def summary(report: ConformanceReport, *, results: str) -> str:
    """Verdict, features, failures, and the next command, which names the folder `results`."""
    shard = report.options.get("shard")
    share = f", shard {shard}" if shard else ""
    parts = [
        f"## {_SIGNS[report.verdict]} Conformance of {escape(report.operator.name)}{share}",
        f"**{escape(conclusion(report))}**",
        escape(second_looks(report)),
        _features(report),
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


def _features(report: ConformanceReport) -> str:
    cases = chosen(report.cases)
    if all(case.not_run is not None for case in cases):
        return ""
    head, *rows = grid(cases)
    return _table(head, rows, rule=["---", *(["--:"] * (len(head) - 2)), "---"])


def _table(head: Sequence[str], rows: Iterable[Sequence[str]], *, rule: Sequence[str]) -> str:
    escaped = ([escape(cell.replace("\n", ", ")) for cell in row] for row in (head, rule, *rows))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in escaped)


def _failures(report: ConformanceReport) -> str:
    listed, more = failures(report.cases)
    lines = [f"**{escape(word)}** {escape(who)}: {escape(why)}" for word, who, why in listed]
    return "\n".join(f"- {line}" for line in (*lines, more) if line)


def _concessions(report: ConformanceReport) -> str:
    line = escape(concessions.line(report))
    if not report.concessions:
        return line
    rows = [(one.kind.noun, one.what, one.reason) for one in report.concessions]
    table = _table(["concession", "what", "reason"], rows, rule=["---"] * 3)
    return f"<details>\n<summary>{line}</summary>\n\n{table}\n\n</details>"


def _facts(report: ConformanceReport) -> str:
    facts = {"cluster": report.cluster, **report.versions, **report.options}
    told = ", ".join(f"{name} {value}" for name, value in facts.items() if value)
    return f"<sub>{escape(told)}</sub>" if told else ""
