"""Containment: is what the user wrote in what runs? Differences as (field, wanted, found).

Fields are named as profiles write them in `fidelity_exceptions`: of the main container `image`,
`command`, `args`, `env.NAME`, `envFrom`, `resources.limits.KEY`, `volumeMounts.PATH`, and any other
field by its API name (`workingDir`, `livenessProbe`, `ports`, ...); of the pod `volumes.NAME`,
`serviceAccountName` and any other field of its spec, `labels.KEY`, `annotations.KEY`; of another
container `containers.NAME` and the same fields behind it (`initContainers.NAME` likewise).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from conformance.judge.compare.values import contains, quantity
from conformance.model.graph import Service
from conformance.model.manifest import GPU_RESOURCE, MAIN

_SHELLS = frozenset({"sh", "bash", "/bin/sh", "/bin/bash", "-c", "-lc", "-ec"})
_QUOTES = str.maketrans("", "", "'\"\\")
# Fields of containers and pods that have a comparison of their own, or name the container.
_COMPARED = frozenset(
    {"name", "image", "env", "envFrom", "volumeMounts", "resources", "command", "args",
     "containers", "initContainers", "volumes"}
)  # fmt: skip
# In a group the operator decides what runs, and so how to ask whether it runs.
_OF_PROCESS = frozenset({"livenessProbe", "readinessProbe", "startupProbe"})
_OF_LEADERS = frozenset({"ports", "lifecycle"})
# What schedulers and the workload kinds set themselves, whatever a template says (Volcano's
# schedulerName, the hostname and subdomain of an LWS's pods); `serviceAccount` is an old name that
# the API fills in.
_PODS_OWN = frozenset(
    {"schedulerName", "hostname", "subdomain", "nodeName", "restartPolicy", "serviceAccount"}
)


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing of the user's that is not there. `found` None: the field is missing."""

    field: str
    wanted: Any
    found: Any

    def __str__(self) -> str:
        if self.found is None:
            return f"{self.field} is missing (wanted {self.wanted!r})"
        return f"{self.field} is {self.found!r} (wanted {self.wanted!r})"


def pod_differences(
    service: Service,
    *,
    spec: Mapping[str, Any],
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    reserved: Sequence[str],
    runs: bool,
) -> Iterator[Difference]:
    """What of the service's pod is not in a pod spec (or template spec) with its labels and
    annotations.

    `runs` False leaves command and args out, and what goes with them: the followers of a group run
    what the operator says. Labels and annotations with a reserved prefix are the operator's.
    """
    main = _main(service, spec)
    if main is None:
        yield Difference(f"containers.{MAIN}", service.image, None)
    else:
        pair = _Pair(_with_gpus(service), main)
        yield from pair.container()
        left_out = _OF_PROCESS if service.multinode else frozenset[str]()
        yield from pair.rest(but=left_out if runs else left_out | _OF_LEADERS)
        if runs:
            yield from pair.words() if service.multinode else pair.exact()
    for key in ("containers", "initContainers"):
        for container in service.pod.get(key) or ():
            field = f"{key}.{container.get('name')}"
            there = _by(spec.get(key), "name", container.get("name"))
            if there is None:
                yield Difference(field, container.get("image"), None)
            else:
                pair = _Pair(container, there, f"{field}.")
                yield from (*pair.container(), *pair.rest(), *pair.exact())
    pair = _Pair(service.pod, spec)
    yield from pair.items("volumes", "name")
    yield from pair.rest(but=_PODS_OWN)
    for what, mine, theirs in (
        ("labels", service.pod_labels, labels),
        ("annotations", service.pod_annotations, annotations),
    ):
        for key, value in mine.items():
            if not key.startswith(tuple(reserved)) and theirs.get(key) != value:
                yield Difference(f"{what}.{key}", value, theirs.get(key))


def _main(service: Service, spec: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The user's main container: called `main`, else the first that is none of the others."""
    containers = spec.get("containers") or ()
    others = {container.get("name") for container in service.pod.get("containers") or ()}
    named = _by(containers, "name", MAIN)
    return named or next((c for c in containers if c.get("name") not in others), None)


def _with_gpus(service: Service) -> Mapping[str, Any]:
    if service.gpus is None:
        return service.container
    resources = service.container.get("resources") or {}
    limits = {**(resources.get("limits") or {}), GPU_RESOURCE: str(service.gpus)}
    return {**service.container, "resources": {**resources, "limits": limits}}


@dataclass(frozen=True, slots=True)
class _Pair:
    """A container, or a pod's spec, as the user wrote it and as it is there."""

    wanted: Mapping[str, Any]
    there: Mapping[str, Any]
    prefix: str = ""

    def container(self) -> Iterator[Difference]:
        """What differs in the fields of a container that are compared in a way of their own."""
        wanted, there, prefix = self.wanted, self.there, self.prefix
        if "image" in wanted and wanted["image"] != there.get("image"):
            yield Difference(f"{prefix}image", wanted["image"], there.get("image"))
        for variable in wanted.get("env") or ():
            have = _by(there.get("env"), "name", variable.get("name"))
            if have is None or not contains(variable, have):
                field = f"{prefix}env.{variable.get('name')}"
                yield Difference(field, _value(variable), _value(have))
        for source in wanted.get("envFrom") or ():
            if not any(contains(source, have) for have in there.get("envFrom") or ()):
                yield Difference(f"{prefix}envFrom", source, None)
        yield from self.items("volumeMounts", "mountPath")
        for side, values in (wanted.get("resources") or {}).items():
            if not isinstance(values, Mapping):
                continue
            found = (there.get("resources") or {}).get(side) or {}
            for key, value in values.items():
                if quantity(found.get(key)) != quantity(value):
                    field = f"{prefix}resources.{side}.{key}"
                    yield Difference(field, str(value), found.get(key))

    def items(self, field: str, name: str) -> Iterator[Difference]:
        """Items of a list, each known by one of its fields, that are not there."""
        for item in self.wanted.get(field) or ():
            have = _by(self.there.get(field), name, item.get(name))
            if have is None or not contains(item, have):
                yield Difference(f"{self.prefix}{field}.{item.get(name)}", item, have)

    def rest(self, *, but: frozenset[str] = frozenset()) -> Iterator[Difference]:
        """Every field of a container or pod that is compared nowhere else. Operators may add to each
        (ports, tolerations, a security context); what the user wrote must be in it."""
        for key, value in self.wanted.items():
            have = self.there.get(key)
            if key not in _COMPARED | but and not _holds(value, have):
                yield Difference(f"{self.prefix}{key}", value, have)

    def exact(self) -> Iterator[Difference]:
        """Command and arguments that are others."""
        for key in ("command", "args"):
            wanted, have = list(self.wanted.get(key) or ()), self.there.get(key)
            if wanted and wanted != list(have or ()):
                yield Difference(f"{self.prefix}{key}", wanted, have)

    def words(self) -> Iterator[Difference]:
        """Command and arguments whose words are not there in their order: operators wrap those of a
        group's leader (`ray start ... && python3 ...`, `sh -c`)."""
        run = [*(self.there.get("command") or ()), *(self.there.get("args") or ())]
        for key in ("command", "args"):
            wanted = [w for w in _words(self.wanted.get(key) or ()) if w not in _SHELLS]
            words = iter(_words(run))
            if not all(any(word == other for other in words) for word in wanted):
                yield Difference(key, list(self.wanted[key]), run)


def _holds(wanted: Any, have: Any) -> bool:
    """As `contains`; the items of a list may stand in any order, among others."""
    if isinstance(wanted, (list, tuple)) and isinstance(have, (list, tuple)):
        return all(any(contains(item, other) for other in have) for item in wanted)
    return contains(wanted, have)


def _words(texts: Sequence[str]) -> list[str]:
    """The words of a command line, without quoting and shell punctuation at their ends."""
    plain = (str(text).translate(_QUOTES) for text in texts)
    return [word for text in plain for raw in text.split() if (word := raw.strip(";&|()"))]


def _by(items: Any, key: str, value: Any) -> Mapping[str, Any] | None:
    mappings = (item for item in items or () if isinstance(item, Mapping))
    return next((item for item in mappings if item.get(key) == value), None)


def _value(variable: Mapping[str, Any] | None) -> Any:
    return None if variable is None else variable.get("value", variable.get("valueFrom"))
