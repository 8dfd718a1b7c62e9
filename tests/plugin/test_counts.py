"""Counts of cases and faults that documents give are those of the suite.

A sentence with such a count has its row in `CLAIMS`; a document that gives one without fails.
"""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from conformance.model.run_cases import RunCase
from conformance.operator import faults
from tests.plugin.support import ROOT

DOCUMENTS = sorted([ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").rglob("*.md")])
COUNT = re.compile(r"\b\d+ (?:required )?(?:cases|faults|mutants|checkers|deselected)\b")

CLAIMS = [
    ("README.md", r"violates \(1 of (\d+) cases violates", "judged"),
    ("README.md", r"; (\d+) required cases deselected\)", "all but one"),
    ("README.md", r"\nadd multinode +(\d+) +1 ", "add multinode"),
    ("README.md", r"\nadd multinode +\d+ +1 +(\d+) ", "add multinode but one"),
    ("README.md", r"\nwhole run +(\d+) ", "whole run"),
    ("README.md", r"already there\), (\d+) cases", "cases"),
    ("docs/operators.md", r'"14 of (\d+) cases not supported', "cases"),
]
"""Document, the sentence, and what its number counts."""

HISTORICAL = {"docs/findings.md"}
"""What real builds did in a run of its time, which a new case does not change."""


@pytest.fixture(scope="module")
def counts() -> dict[str, int]:
    command = (sys.executable, "-m", "pytest", "cases", "--operator=reference", "--collect-only")
    done = subprocess.run(
        [*command, "-q", "-p", "no:cacheprovider"],
        cwd=ROOT, capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    cases = re.findall(r"^cases/(\w+)\.py::", done.stdout, re.MULTILINE)
    added = cases.count("test_add_multinode")
    return {
        "cases": len(cases),
        "all but one": len(cases) - 1,
        "whole run": len(RunCase),
        "judged": len(cases) + len(RunCase),
        "add multinode": added,
        "add multinode but one": added - 1,
    }


@pytest.mark.parametrize(("document", "sentence", "what"), CLAIMS)
def test_a_count_in_a_document_is_true(
    counts: dict[str, int], document: str, sentence: str, what: str
) -> None:
    (stated,) = re.findall(sentence, (ROOT / document).read_text(encoding="utf-8"))
    assert int(stated) == counts[what], f"{document}: {what}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: path.name)
def test_no_other_count_is_given(path: Path) -> None:
    name = str(path.relative_to(ROOT))
    text = path.read_text(encoding="utf-8")
    for document, sentence, _ in CLAIMS:
        if document == name:
            text = re.sub(sentence, "", text)
    assert name in HISTORICAL or COUNT.findall(text) == []


def test_counts_of_real_builds_add_up() -> None:
    text = (ROOT / "docs" / "findings.md").read_text(encoding="utf-8")
    (total,) = re.findall(r"All counts are of the (\d+) cases", text)
    table = re.findall(
        r"^\| (?:conforms|violates|unknown|not run) \|([ \d|]+)$", text, re.MULTILINE
    )
    rows = [[int(number) for number in re.findall(r"\d+", row)] for row in table]
    assert [sum(column) for column in zip(*rows, strict=True)] == [int(total)] * len(rows[0])


def test_the_catalogue_of_faults_names_mutants_that_there_are() -> None:
    text = (ROOT / "docs" / "faults.md").read_text(encoding="utf-8")
    named = re.findall(r"mutants? ((?:`[a-z0-9-]+`(?:, | and )?)+)", text)
    known = {name for rows in faults.of_reference().values() for name in rows}
    assert {name for group in named for name in re.findall(r"`([^`]+)`", group)} <= known
