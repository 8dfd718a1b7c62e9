import re

import pytest
from pydantic import BaseModel

from conformance.model.children import Multinode
from conformance.model.exemptions import StatusNames
from conformance.model.features import Feature
from conformance.model.installs import ClusterInstall, ProcessInstall
from conformance.model.profile import Profile
from conformance.model.promises import Promise, Promises
from conformance.model.verdict import CheckerName
from conformance.operator.templates import PLACEHOLDERS
from conformance.report import documents
from tests.plugin.support import ROOT

GUIDE = (ROOT / "docs" / "operators.md").read_text(encoding="utf-8")
CODE = set(re.findall(r"[\w-]+", " ".join(re.findall(r"`([^`]+)`", GUIDE.replace("```", "")))))


@pytest.mark.parametrize("model", [Profile, ProcessInstall, ClusterInstall, Multinode, Promises])
def test_the_guide_tells_of_every_field_of_a_profile(model: type[BaseModel]) -> None:
    assert set(model.model_fields) - CODE - {"identity", "kind", "install"} == set()


def test_the_guide_tells_of_every_feature_promise_and_placeholder() -> None:
    features = {str(f) for f in Feature if f not in (Feature.V1ALPHA1, Feature.V1BETA1)}
    assert features - CODE == set()
    assert {str(promise) for promise in Promise} - CODE == set()
    assert set(PLACEHOLDERS) - CODE == set()


def test_the_table_of_checkers_is_made_from_their_entries() -> None:
    page = ROOT / "docs" / "checkers.md"
    assert page.read_text(encoding="utf-8") == documents.checkers(), (
        "run: python -m conformance docs --write docs"
    )
    assert "](checkers.md)" in GUIDE


@pytest.mark.parametrize("name", CheckerName)
def test_a_checker_has_a_sentence_and_a_module(name: CheckerName) -> None:
    assert re.fullmatch(r"[A-Z][^.]+\.", name.meaning)
    assert (ROOT / "conformance" / "judge" / "checks" / f"{name.module}.py").is_file()


def test_the_guide_gives_the_defaults_of_the_model() -> None:
    assert StatusNames().ready_condition == "Ready"
    assert ProcessInstall(command=["true"]).namespace in GUIDE
    assert str(Profile.model_fields["identity_user"].default) in CODE
    for port in ProcessInstall(command=["true"]).ports:
        assert port in CODE
