"""Templates of profiles: `{name}` stands for a value, `{{` and `}}` for a brace. Strict on purpose.

`str.format` would also allow attribute access and conversions; a profile is data, not a program.
"""

import re
from collections.abc import Callable, Mapping
from typing import Any

from conformance.model.errors import UsageError
from conformance.model.profile import Profile

PLACEHOLDERS = (
    "binary",
    "ca_bundle",
    "cert_dir",
    "etcd_url",
    "kubeconfig",
    "namespace",
    "profile_dir",
    "python",
    "root",
    "work_dir",
)
"""Names that every installation fills in, beside `port_<name>` for each port."""

_VALUE_PLACEHOLDERS = ("image", "image_repository", "image_tag", "namespace")
"""Names that the values of a chart may use."""

_TOKEN = re.compile(r"\{\{|\}\}|\{([a-z][a-z0-9_]*)\}|[{}]")
_FIELDS = {
    "install": {"command", "env", "ready", "cert_dir", "fault_argument", "files"},
    "in_cluster": {"values", "fault_argument"},
}
"""Part of a profile → its fields that hold templates."""


def fill(template: str, values: Mapping[str, str], *, where: str) -> str:
    """The template with each `{name}` replaced. Raises UsageError, naming `where`, the placeholder
    and the known ones, for an unknown name or a single brace."""

    def replace(match: re.Match[str]) -> str:
        token, name = match.group(0), match.group(1)
        if token in ("{{", "}}"):
            return token[0]
        if name is None:
            raise UsageError(
                f"{where}: a single `{token}` in {_shown(template)}; "
                "write {name} for a placeholder, or double the brace for a literal one"
            )
        if name not in values:
            raise UsageError(
                f"{where}: unknown placeholder {{{name}}} in {_shown(template)}; "
                f"known are {', '.join(sorted(values))}"
            )
        return values[name]

    return _TOKEN.sub(replace, template)


def map_texts(data: Any, field: str, change: Callable[[str, str], str]) -> Any:
    """A copy of nested data in which each text is `change(text, the field that it stands in)`."""
    if isinstance(data, str):
        return change(data, field)
    if isinstance(data, dict):
        return {key: map_texts(part, f"{field}.{key}", change) for key, part in data.items()}
    if isinstance(data, list):
        return [map_texts(part, f"{field}.{index}", change) for index, part in enumerate(data)]
    return data


def problems(profile: Profile) -> list[str]:
    """A sentence for each placeholder that no installation will fill in."""
    found: list[str] = []

    def check(template: str, field: str) -> str:
        try:
            return fill(template, dict.fromkeys(_known(profile, field), ""), where=f"`{field}`")
        except UsageError as error:
            found.append(str(error))
            return template

    for part, fields in _FIELDS.items():
        if install := getattr(profile, part):
            map_texts(install.model_dump(include=fields), part, check)
    return found


def _known(profile: Profile, field: str) -> set[str]:
    if field == "in_cluster.fault_argument":
        return {"fault"}
    if field.startswith("in_cluster.values"):
        return set(_VALUE_PLACEHOLDERS)
    install = profile.process
    known = {*PLACEHOLDERS, *(f"port_{name}" for name in (*install.ports, *install.fixed_ports))}
    if field == "install.fault_argument":
        return known | {"fault"}
    # The certificate directory is itself a placeholder of the others.
    return known - {"cert_dir"} if field == "install.cert_dir" else known


def _shown(template: str) -> str:
    line = next((line for line in template.splitlines() if "{" in line or "}" in line), template)
    return repr(line.strip()[:80])
