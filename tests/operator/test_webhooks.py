"""Admission and conversion reach a process through unmodified service references."""

import copy
from typing import Any

from conformance.operator import webhooks
from conformance.operator.webhooks import ServiceRef


def _hook(**client: Any) -> dict[str, Any]:
    return {
        "name": "v.example.com",
        "clientConfig": client,
        "rules": [
            {"apiGroups": ["nvidia.com"], "apiVersions": ["v1beta1"], "resources": ["graphs"]}
        ],
    }


def _service(
    name: str = "hooks", namespace: str = "ops", path: str = "/validate"
) -> dict[str, Any]:
    return {"service": {"name": name, "namespace": namespace, "path": path}}


def _validating(*hooks: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "ValidatingWebhookConfiguration",
        "metadata": {"name": "v"},
        "webhooks": list(hooks),
    }


def _crd(conversion: dict[str, Any] | None) -> dict[str, Any]:
    spec = {"group": "nvidia.com"} | ({"conversion": conversion} if conversion else {})
    return {"kind": "CustomResourceDefinition", "metadata": {"name": "graphs"}, "spec": spec}


def _converting() -> dict[str, Any]:
    client = _service(path="/convert")
    return _crd({"strategy": "Webhook", "webhook": {"clientConfig": client}})


def test_reference_is_kept_and_gets_port_and_ca() -> None:
    rewritten = webhooks.reachable(_validating(_hook(**_service())), port=4711, ca_bundle="Q0E=")
    assert rewritten["webhooks"][0]["clientConfig"] == {
        "service": {"name": "hooks", "namespace": "ops", "path": "/validate", "port": 4711},
        "caBundle": "Q0E=",
    }


def test_mutating_and_conversion_webhooks_are_rewritten_alike() -> None:
    mutating = {**_validating(_hook(**_service())), "kind": "MutatingWebhookConfiguration"}
    client = webhooks.reachable(mutating, port=1, ca_bundle="x")["webhooks"][0]["clientConfig"]
    assert client["service"]["port"] == 1
    crd = webhooks.reachable(_converting(), port=2, ca_bundle="x")
    converted = crd["spec"]["conversion"]["webhook"]["clientConfig"]
    assert converted["service"] == {
        "name": "hooks",
        "namespace": "ops",
        "path": "/convert",
        "port": 2,
    }
    assert converted["caBundle"] == "x"


def test_author_of_a_manifest_sees_no_change_in_it() -> None:
    manifest = _validating(_hook(**_service()))
    before = copy.deepcopy(manifest)
    webhooks.reachable(manifest, port=1, ca_bundle="x")
    assert manifest == before


def test_url_clients_and_other_kinds_stay_as_they_are() -> None:
    by_url = _validating(_hook(url="https://example.com/v", caBundle="theirs"))
    plain = _crd(None)
    none = _crd({"strategy": "None"})
    secret = {"kind": "Secret", "metadata": {"name": "s"}, "webhooks": [_hook(**_service())]}
    for manifest in (by_url, plain, none, secret):
        assert webhooks.reachable(manifest, port=1, ca_bundle="x") == manifest


def test_each_service_is_found_once_whoever_names_it() -> None:
    manifests = [
        _validating(_hook(**_service()), _hook(**_service(name="b")), _hook(url="https://e.com")),
        _converting(),
    ]
    assert webhooks.services(manifests) == [ServiceRef("ops", "b"), ServiceRef("ops", "hooks")]


def test_alias_leads_to_localhost_and_its_certificate_name_is_the_services() -> None:
    reference = ServiceRef("ops", "hooks")
    alias = webhooks.external_name(reference, port=4711)
    assert alias["metadata"] == {"name": "hooks", "namespace": "ops"}
    assert alias["spec"]["type"] == "ExternalName"
    assert alias["spec"]["externalName"] == "localhost"
    assert reference.host == "hooks.ops.svc"


def test_guarded_versions_come_from_validating_rules_for_that_resource() -> None:
    everything = {"apiGroups": ["*"], "apiVersions": ["v1"], "resources": ["*"]}
    wide = {"name": "w", "clientConfig": {}, "rules": [everything]}
    mutating = {**_validating(wide), "kind": "MutatingWebhookConfiguration"}
    asked = [_validating(_hook()), mutating]
    assert webhooks.guarded(asked, group="nvidia.com", resource="graphs") == {"v1beta1"}
    assert webhooks.guarded(asked, group="nvidia.com", resource="others") == set()
    asked.append(_validating(wide))
    assert webhooks.guarded(asked, group="nvidia.com", resource="others") == {"v1"}
