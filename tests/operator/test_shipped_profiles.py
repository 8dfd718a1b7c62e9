"""The profiles that come with the suite, and the schema that is published for others."""

import json
from pathlib import Path

import pytest

from conformance import paths
from conformance.model.children import Gang, LwsLayout
from conformance.model.features import Feature
from conformance.model.profile import Profile
from conformance.operator import profiles
from conformance.report.documents import schema

TEMPLATE = paths.operators() / "_template" / "profile.yaml"
ERAS = ("dynamo-2025-11", "dynamo-2025-12", "dynamo-2026-01", "dynamo-2026-08")


@pytest.mark.parametrize("name", profiles.known())
def test_shipped_profile_loads_under_its_own_name(name: str) -> None:
    assert profiles.load(name).name == name


def test_known_names_are_the_operators_and_not_the_template() -> None:
    known = profiles.known()
    assert {"reference", "reference-refusing", "reference-statefulset", *ERAS} <= set(known)
    assert not [name for name in known if name.startswith("_")]


def test_files_beside_a_profile_are_no_profiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("single/profile.yaml", "single/other.yaml", "many/a.yaml", "many/rbac.yaml"):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        text = "kind: Role\n" if "rbac" in name else "identity: {name: a}\n"
        file.write_text(text, encoding="utf-8")
    monkeypatch.setattr(paths, "operators", lambda: tmp_path)
    assert profiles.known() == ["a", "single"]


def test_path_to_a_folder_or_file_works_as_well_as_a_name() -> None:
    by_name = profiles.load("reference")
    assert profiles.load(by_name.directory).profile == by_name.profile
    assert profiles.load(by_name.path).path == by_name.path


def test_template_is_ten_lines_when_stripped_and_loads() -> None:
    lines = [line.strip() for line in TEMPLATE.read_text(encoding="utf-8").splitlines()]
    assert len([line for line in lines if line and not line.startswith("#")]) <= 10
    assert profiles.load(TEMPLATE.parent).profile.install.needs_binary


@pytest.mark.parametrize("name", ERAS)
def test_released_builds_are_given_by_the_user(name: str) -> None:
    install = profiles.load(name).profile.install
    assert install.needs_binary
    assert install.needs_crds


def test_eras_differ_where_the_builds_differ() -> None:
    old, new = profiles.load(ERAS[0]).profile, profiles.load(ERAS[-1]).profile
    assert Feature.ADMISSION not in old.features
    assert Feature.ADMISSION in new.features
    assert (old.multinode.layout, old.multinode.gang) == (LwsLayout.PER_REPLICA, Gang.PER_GROUP)
    assert (new.multinode.layout, new.multinode.gang) == (LwsLayout.SINGLE, Gang.NONE)


def test_published_schema_is_up_to_date() -> None:
    published = paths.root() / "docs" / "schema" / "profile.schema.json"
    assert json.loads(published.read_text(encoding="utf-8")) == schema(Profile), (
        "run: python -m conformance schema --write docs/schema"
    )


def test_schema_describes_the_fields() -> None:
    definitions = schema(Profile)["$defs"]
    undescribed = [
        name
        for name, field in definitions["ProcessInstall"]["properties"].items()
        if name != "kind" and not field.get("description")
    ]
    assert undescribed == []
    assert definitions["Promises"]["additionalProperties"] is False
