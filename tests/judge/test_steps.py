"""A step in words names each service with what happened to it."""

import pytest

from conformance.judge.steps import describe
from conformance.model.graph import Graph
from conformance.model.transition import (
    Transition,
    add_multinode,
    add_service,
    annotate,
    change_node_count,
    no_op,
    remove_multinode,
    remove_service,
    rename_service,
    scale,
    set_image,
    together,
)
from tests.builders import HistoryBuilder, a_graph, deletion, deploy

SINGLE, MULTI = a_graph(), a_graph(node_count=2)


@pytest.mark.parametrize(
    ("transition", "before", "text"),
    [
        (add_multinode("Worker"), SINGLE, "multinode was added to service Worker"),
        (remove_multinode("Worker"), MULTI, "multinode was removed from service Worker"),
        (change_node_count("Worker", to=3), MULTI, "nodeCount of service Worker was changed to 3"),
        (scale("Worker", to=4), SINGLE, "service Worker was scaled to 4"),
        (set_image("Worker", "x:1"), SINGLE, "the image of service Worker was changed"),
        (remove_service("Worker"), SINGLE, "service Worker was removed"),
        (
            add_service(SINGLE.services[1].replace(name="Other")),
            SINGLE,
            "service Other was added",
        ),
        (rename_service("Worker", "New"), SINGLE, "service Worker was renamed to New"),
        (annotate("a", "b"), SINGLE, "an annotation of agg was changed"),
        (no_op(), SINGLE, "agg was sent again unchanged"),
        (deletion(SINGLE), SINGLE, "agg was deleted"),
        (
            together("t", add_multinode("Worker"), scale("Frontend", to=2)),
            SINGLE,
            "service Frontend was scaled to 2 and multinode was added to service Worker",
        ),
    ],
)
def test_step_is_told_with_its_service(transition: Transition, before: Graph, text: str) -> None:
    h = HistoryBuilder()
    h.deployed(before)
    assert describe(h.step(transition, before)) == text


def test_deploy_and_component_steps_name_their_target() -> None:
    h = HistoryBuilder()
    assert describe(h.step(deploy(SINGLE), None)) == "agg was deployed"
    step = h.step(add_multinode("Worker"), SINGLE, component="agg-worker")
    assert describe(step) == "multinode was added to service Worker through component agg-worker"
