"""Tables of faults: read for `--fault` and for the mutants' tests; a mistake in one is told."""

from pathlib import Path

import pytest

from conformance.model.errors import UsageError
from conformance.model.installs import Placement
from conformance.model.verdict import CheckerName
from conformance.operator import faults, profiles
from conformance.operator.operator_options import OperatorOptions, check_options

ENTRY = '[mine.lost]\nbreaks = "It loses."\nchecker = "orphans"\ncase = "test_rest.py::test_idle"\n'


def test_an_entry_is_a_fault_of_the_profile_that_it_names(tmp_path: Path) -> None:
    (tmp_path / "faults.toml").write_text(ENTRY + ENTRY.replace("mine", "other"), encoding="utf-8")
    table = faults.read(tmp_path / "faults.toml")
    assert table["mine"]["lost"].checker is CheckerName.ORPHANS
    profile = tmp_path / "profile.yaml"
    profile.write_text(
        "identity: {name: mine}\nfaults: [slow]\nfault_table: faults.toml\n"
        "install: {command: ['true'], fault_argument: '--fault={fault}'}\n",
        encoding="utf-8",
    )
    loaded = profiles.load(profile)
    assert loaded.faults == ("slow", "lost")
    with pytest.raises(UsageError, match="did you mean lost"):
        check_options(loaded, OperatorOptions(faults=("lsot",)), placement=Placement.PROCESS)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (None, r"faults\.toml: No such file or directory; expected a table of faults"),
        ("", "holds no faults"),
        ("x", "is not TOML"),
        (ENTRY.replace("orphans", "orphan"), "`mine.lost.checker` must be one of coexistence"),
        (ENTRY.replace("breaks", "brakes"), "has no field `brakes`; did you mean `breaks`"),
    ],
)
def test_a_table_that_cannot_be_read_is_told(
    tmp_path: Path, text: str | None, sentence: str
) -> None:
    if text is not None:
        (tmp_path / "faults.toml").write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=sentence):
        faults.read(tmp_path / "faults.toml")
