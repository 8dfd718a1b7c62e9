"""The shipped example graphs, by name."""

import functools

import yaml

from conformance.model.errors import UsageError
from conformance.model.graph import ApiVersion, Graph
from conformance.model.manifest import parse
from conformance.paths import root


@functools.cache
def load(name: str, version: ApiVersion = ApiVersion.V1BETA1) -> Graph:
    """The graph in `fixtures/<name>.<version>.yaml`. Both versions of a fixture mean one graph.
    Raises UsageError if there is no such file or it holds no graph."""
    path = root() / "fixtures" / f"{name}.{version}.yaml"
    if not path.is_file():
        known = ", ".join(sorted({p.name.split(".")[0] for p in path.parent.glob("*.yaml")}))
        raise UsageError(f"there is no fixture {path.name}; the graphs are {known}")
    return parse(yaml.safe_load(path.read_text()), source=path.name)


agg = functools.partial(load, "vllm-agg")
"""A frontend and one worker, each on a single node."""
agg_multinode = functools.partial(load, "vllm-agg-multinode")
"""The aggregated graph with its worker over two nodes."""
disagg = functools.partial(load, "vllm-disagg")
"""A frontend, a prefill worker and a decode worker."""
two_workers = functools.partial(load, "vllm-two-workers")
"""A frontend and two workers of one type."""
