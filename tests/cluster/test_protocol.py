"""Nothing above the cluster package knows which class a cluster has."""

import ast
from pathlib import Path

import conformance

ROOT = Path(conformance.__file__).parent
CLASSES = {"EmbeddedCluster", "KindCluster", "KubeconfigCluster"}


def test_no_module_outside_the_cluster_package_names_a_class_of_cluster() -> None:
    found = []
    for path in ROOT.rglob("*.py"):
        if path.is_relative_to(ROOT / "cluster"):
            continue
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            named = {alias.name for alias in getattr(node, "names", ()) if hasattr(alias, "name")}
            named |= {getattr(node, "id", ""), getattr(node, "attr", "")}
            # pytest-kind's class of the same name is handed in, and is no cluster of a run.
            if named & CLASSES and path.name != "kind.py":
                found.append(f"{path.relative_to(ROOT)}:{getattr(node, 'lineno', 0)}")
    assert not found, f"ask the cluster instead (conformance/cluster/protocol.py): {found}"
