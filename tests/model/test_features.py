"""Which cases may be left out without making a run partial."""

import pytest

from conformance.cluster.identities import IDENTITIES, OPERATOR
from conformance.model.features import Feature
from conformance.model.profile import OTHER_USERS
from conformance.operator import profiles
from conformance.plugin.collection import required
from tests.objects import a_profile

SHIPPED = profiles.known()
REASON = [{"feature": "bare-component", "reason": "its ServiceAccount comes with the graph"}]


@pytest.mark.parametrize("feature", [Feature.MULTINODE, Feature.RESTART])
def test_the_core_has_no_excuse(feature: Feature) -> None:
    assert required([feature], a_profile(features=["component"]))


@pytest.mark.parametrize(
    "feature", [Feature.V1ALPHA1, Feature.V1BETA1, Feature.COMPONENT, Feature.ADMISSION]
)
def test_what_the_live_api_does_not_have_is_excused(feature: Feature) -> None:
    assert not required([feature], a_profile(versions=["v1beta1"], features=["multinode"]))


def test_a_bare_component_is_excused_with_a_reason_only() -> None:
    features = ["multinode", "component", "restart"]
    assert required([Feature.BARE_COMPONENT], a_profile(features=features))
    excused = a_profile(features=features, without=REASON)
    assert not required([Feature.BARE_COMPONENT], excused)
    assert excused.excuse(Feature.BARE_COMPONENT) == REASON[0]["reason"]


def test_a_case_that_cannot_run_anyway_is_not_required_for_the_core_that_it_also_needs() -> None:
    profile = a_profile(versions=["v1beta1"], features=["restart"])
    assert not required([Feature.MULTINODE, Feature.V1ALPHA1], profile)
    assert required([Feature.MULTINODE, Feature.RESTART], profile)


def test_a_case_for_which_everything_is_declared_is_required() -> None:
    assert required([], a_profile())


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_profile_may_conform(name: str) -> None:
    profile = profiles.load(name).profile
    lacking = [feature for feature in Feature if not profile.supports(feature)]
    assert [str(feature) for feature in lacking if required([feature], profile)] == []


def test_the_operator_may_not_write_under_the_name_of_anybody_else_on_the_cluster() -> None:
    others = {one.user for name, one in IDENTITIES.items() if name != OPERATOR}
    assert {user for user in others if not user.startswith("system:")} == OTHER_USERS
