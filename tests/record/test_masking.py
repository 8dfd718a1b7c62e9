"""What is masked in an object, and what is not."""

import json
from typing import Any

import pytest

from conformance.record.masking import MASK, mask_line, mask_object

CERTIFICATE = "-----BEGIN CERTIFICATE-----\nMIIC\n-----END CERTIFICATE-----"


def an_object(kind: str, name: str, **fields: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": name}, **fields}


def test_the_published_ca_of_the_cluster_is_masked_in_every_namespace() -> None:
    published = an_object("ConfigMap", "kube-root-ca.crt", data={"ca.crt": CERTIFICATE})
    masked = mask_object(published)
    assert masked["data"] == {"ca.crt": MASK}
    assert masked["metadata"] == {"name": "kube-root-ca.crt"}


@pytest.mark.parametrize("kind", ["ConfigMap", "Pod"])
def test_no_other_object_loses_its_data(kind: str) -> None:
    name = "own-ca.crt" if kind == "ConfigMap" else "kube-root-ca.crt"
    raw = an_object(kind, name, data={"ca.crt": CERTIFICATE})
    assert mask_object(json.loads(json.dumps(raw))) == raw


def test_an_object_without_metadata_or_data_is_left_as_it_is() -> None:
    assert mask_object({"kind": "Secret"}) == {"kind": "Secret"}
    assert mask_object({}) == {}


def test_in_a_line_objects_are_masked_however_deep_and_all_else_stays() -> None:
    secret = an_object("Secret", "s", data={"key": "czNjcjN0"})
    published = an_object("ConfigMap", "kube-root-ca.crt", data={"ca.crt": CERTIFICATE})
    row = {"at": 1.25, "text": "ü", "objects": [{"items": [secret]}, published], "none": None}
    masked = mask_line(json.dumps(row).encode())
    assert masked.endswith(b"\n")
    assert json.loads(masked) == {
        **row,
        "objects": [
            {"items": [{**secret, "data": {"key": MASK}}]},
            {**published, "data": {"ca.crt": MASK}},
        ],
    }
