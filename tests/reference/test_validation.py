import copy
import re

import pytest
from reference_fakes import component, graph_spec

from reference.objects import DEPLOYMENT, STATEFUL_SET, Kind, Object
from reference.validation import component_problems, graph_problems, graph_topology_changes

MULTI: Object = {"nodeCount": 2}


def graph(*components: Object, name: str = "g", namespace: str = "ns", **spec: object) -> Object:
    metadata = {"name": name, "namespace": namespace}
    return {"metadata": metadata, "spec": {**graph_spec(*components), **spec}}


def texts(obj: Object, version: str = "v1beta1", single_node: Kind = DEPLOYMENT) -> list[str]:
    return [problem.render(version) for problem in graph_problems(obj, single_node)]


def test_good_graph_has_no_problem() -> None:
    frontend = component("Frontend", type_="frontend")
    assert texts(graph(frontend, component(multinode=MULTI))) == []


@pytest.mark.parametrize(
    ("bad", "pattern"),
    [
        (graph(), r"^spec\.components: Required"),
        (graph(component(), name="1a"), r"^metadata\.name: Invalid value: \"1a\""),
        (graph(component(), name="a.b"), r"^metadata\.name: Invalid"),
        (graph(component(), restart={"id": "1"}), r"^spec\.restart: Forbidden"),
        (graph(component("a_b")), r"^spec\.components\[0\]\.name: Invalid value: \"a_b\""),
        (graph(component("W"), component("w")), r"^spec\.components\[1\]\.name: .*component W"),
        (
            graph(component("w-0"), component("W", multinode=MULTI)),
            r"^spec\.components\[1\]\.name: .*collides with component w-0",
        ),
        (
            graph(component("F", type_="frontend", multinode=MULTI)),
            r"^spec\.components\[0\]\.multinode: Forbidden: component F",
        ),
        (
            graph({"name": "w", "type": "worker"}),
            r"^spec\.components\[0\]\.podTemplate\.spec\.containers\[main\]\.image: Required",
        ),
        (graph(component(), namespace="n" * 62), r"^metadata\.name: .* has 64 characters"),
    ],
)
def test_problem_names_its_field(bad: Object, pattern: str) -> None:
    found = texts(bad)
    assert any(re.search(pattern, text) for text in found), found


@pytest.mark.parametrize(
    ("fields", "single_node", "limit"),
    [
        ({}, DEPLOYMENT, 63),
        ({}, STATEFUL_SET, 63 - len("-0123456789")),
        ({"multinode": MULTI}, DEPLOYMENT, 63 - len("-0-0-0123456789")),
        ({"multinode": MULTI}, STATEFUL_SET, 63 - len("-0-0-0123456789")),
    ],
)
def test_longest_name_is_accepted_and_one_more_is_not(
    fields: Object, single_node: Kind, limit: int
) -> None:
    name = "w" * (limit - len("g-"))
    assert texts(graph(component(name, **fields)), single_node=single_node) == []
    (problem,) = texts(graph(component(name + "w", **fields)), single_node=single_node)
    assert "64 characters, the limit is 63" in problem


def test_path_is_spelt_in_the_version_of_the_request() -> None:
    bad = graph(component("F", type_="frontend", multinode=MULTI), {"name": "w"})
    found = texts(bad, "v1alpha1")
    assert found[0].startswith("spec.services[F].multinode: ")
    assert found[1].startswith("spec.services[w].extraPodSpec.mainContainer.image: ")


def test_reserved_pod_label_is_refused() -> None:
    bad = component()
    bad["podTemplate"]["metadata"] = {"labels": {"leaderworkerset.sigs.k8s.io/name": "x"}}
    (problem,) = texts(graph(bad))
    assert "leaderworkerset.sigs.k8s.io/name is reserved" in problem


def test_component_object_has_its_fields_inline() -> None:
    bad = {"metadata": {"name": "f"}, "spec": component(type_="planner", multinode=MULTI)}
    (problem,) = component_problems(bad)
    assert problem.render("v1beta1", inline=True).startswith("spec.multinode: Forbidden")


@pytest.mark.parametrize(
    ("before", "after", "field"),
    [
        ({}, {"multinode": MULTI}, "spec.components[0].multinode: "),
        ({"multinode": MULTI}, {}, "spec.components[0].multinode: "),
        ({"multinode": MULTI}, {"multinode": {"nodeCount": 3}}, ".multinode.nodeCount: "),
        ({}, {"name": "Other"}, "added: [Other], removed: [Worker]"),
    ],
)
def test_topology_change_is_named(before: Object, after: Object, field: str) -> None:
    changes = graph_topology_changes(graph(component(**before)), graph(component(**after)))
    (text,) = [change.render("v1beta1") for change in changes]
    assert field in text


def test_replicas_image_and_order_are_no_topology() -> None:
    first, second = component("A"), component("B", multinode=MULTI)
    changed = copy.deepcopy(second)
    changed["replicas"] = 4
    changed["podTemplate"]["spec"]["containers"][0]["image"] = "x:2.0.0"
    assert graph_topology_changes(graph(first, second), graph(changed, first)) == []
