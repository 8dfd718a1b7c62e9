"""What pytest's own JUnit XML lacks: properties of each case, and one file for several shards."""

from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

from conformance.model.errors import UsageError
from conformance.report.model import CaseResult

_COUNTS = ("tests", "failures", "errors", "skipped")


def properties(case: CaseResult) -> list[tuple[str, str]]:
    """Names and values for `<property>` elements, in a fixed order; empty values are left out."""
    found = [
        ("dgd.case", case.id),
        ("dgd.feature", case.feature),
        ("dgd.operator", case.operator),
        ("dgd.verdict", str(case.verdict or "")),
        ("dgd.outcome", str(case.outcome or "")),
        ("dgd.known", "true" if case.known else ""),
        ("dgd.second-look", case.attempts[-1].why if case.attempts else ""),
        ("dgd.history", case.history.path if case.history else ""),
    ]
    found += [
        (f"dgd.finding.{one.checker}", f"{one.verdict} {one.subject}: {one.message}")
        for one in case.findings
    ]
    return [(name, value) for name, value in found if value]


def merge(paths: Sequence[Path], target: Path) -> None:
    """Write the test cases of several JUnit files into one suite. `time`, seconds, is the sum, as
    pytest's own is over its workers. Raises UsageError for a file that is none; OSError."""
    suite = ElementTree.Element("testsuite", {"name": "pytest"})
    seconds = 0.0
    counts = dict.fromkeys(_COUNTS, 0)
    for path in paths:
        try:
            root = ElementTree.parse(path).getroot()
            for one in root.iter("testsuite"):
                counts = {name: n + int(one.get(name, 0)) for name, n in counts.items()}
                seconds += float(one.get("time", 0))
                for name in ("timestamp", "hostname"):
                    suite.attrib.setdefault(name, one.get(name, ""))
                suite.extend(one.findall("testcase"))
        except (ElementTree.ParseError, ValueError) as error:
            raise UsageError(f"{path} is no JUnit XML ({error}); run that shard again") from None
    suite.attrib.update({name: str(n) for name, n in counts.items()}, time=f"{seconds:.3f}")
    root = ElementTree.Element("testsuites", {"name": "pytest tests"})
    root.append(suite)
    ElementTree.ElementTree(root).write(target, encoding="utf-8", xml_declaration=True)
