"""Each mutant of the reference operator is put under its case by the real command, on a real control
plane, and must be caught by its checker, with a first sentence that a person can act on."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from conformance import paths
from conformance.operator import faults

MUTANTS = [
    pytest.param(profile, name, fault, id=name)
    for profile, rows in faults.of_reference().items()
    for name, fault in rows.items()
]
# A mutant is as wrong after 12 s as after 30 s; the whole set takes minutes as it is.
HURRY = "--timeout-factor=0.4"


def run(profile: str, name: str, case: str, results: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [
            sys.executable, "-m", "pytest", str(paths.cases() / case),
            f"--operator={profile}", f"--fault={name}",
            f"--results={results}", HURRY, "-q", "-p", "no:cacheprovider",
        ],
        capture_output=True, text=True, timeout=300, cwd=paths.root(), check=False,
    )  # fmt: skip


def timeless(sentence: str) -> str:
    """Without what differs from run to run: durations, revisions, counts, names of pods, and what
    of several true things was seen first."""
    sentence = re.sub(r"(?<=was that so: )[^;]+", "WHY", sentence)
    sentence = re.sub(r"(?<=after the request: )[^.;]+", "WHAT", sentence)
    sentence = re.sub(r"\bpatch \S+$", "patch TARGET", sentence)
    sentence = re.sub(r"(?<=-)[a-z0-9]{8,10}-[a-z0-9]{5}\b", "HASH", sentence)
    sentence = re.sub(r"\b[a-z0-9]+\.[0-9a-f]{16}\b", "EVENT", sentence)
    sentence = re.sub(r"(?<![\w-])\d+(\.\d+)?(?![\w-])", "N", sentence)
    return re.sub(
        r"\S+ \(controlled by (\w+) \S+\) and (\w+) \S+(?= changed)",
        r"ONE (controlled by \1 OWNER) and \2 ANOTHER",
        sentence,
    )


@pytest.mark.parametrize(("profile", "name", "fault"), MUTANTS)
def test_is_caught_by_its_checker(
    profile: str, name: str, fault: faults.Fault, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    ended = run(profile, name, fault.case, tmp_path / "results")
    assert ended.returncode == 1, ended.stdout[-4000:] + ended.stderr[-2000:]
    report = json.loads((tmp_path / "results" / "report.json").read_text())
    cases = [case for case in report["cases"] if case["verdict"] == "violates"]
    checkers = {
        finding["checker"]
        for case in cases
        for finding in case["findings"]
        if finding["verdict"] == "violates"
    }
    assert fault.checker in checkers
    assert report["verdict"] == "violates"
    assert [timeless(sentence) for sentence in _first_sentences(ended.stdout)] == snapshot


def _first_sentences(output: str) -> list[str]:
    """The line below `violates  <case>` in the closing table: what a person reads first."""
    lines = output.splitlines()
    return [
        lines[index + 1].strip()
        for index, line in enumerate(lines)
        if re.match(r"violates +\S+/\S+", line)
    ]
