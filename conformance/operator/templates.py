"""Templates of profiles: `{name}` stands for a value, `{{` and `}}` for a brace. Strict on purpose.

`str.format` would also allow attribute access and conversions; a profile is data, not a program.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from conformance.model.errors import UsageError

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

VALUE_PLACEHOLDERS = ("image", "image_repository", "image_tag", "namespace")
"""Names that the values of a chart may use."""

_TOKEN = re.compile(r"\{\{|\}\}|\{([a-z][a-z0-9_]*)\}|[{}]")


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


def _shown(template: str) -> str:
    line = next((line for line in template.splitlines() if "{" in line or "}" in line), template)
    return repr(line.strip()[:80])
