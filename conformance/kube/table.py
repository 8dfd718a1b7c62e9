"""The API server's own Table format as `kubectl get` prints it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

ACCEPT = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"


def render(table: Mapping[str, Any]) -> str:
    """Aligned columns without the wide ones (priority above 0); NAME first, as the server sends it.
    Empty if there is no row. A list that the server did not print as a table gives its names."""
    if table.get("kind") != "Table":
        names = [str(item["metadata"]["name"]) for item in table.get("items") or ()]
        return "\n".join(["NAME", *names]) if names else ""
    columns = table.get("columnDefinitions") or ()
    kept = [index for index, column in enumerate(columns) if not column.get("priority")]
    kept.sort(key=lambda index: columns[index].get("name") != "Name")
    rows = [[_cell(row["cells"][index]) for index in kept] for row in table.get("rows") or ()]
    if not rows:
        return ""
    rows.insert(0, [str(columns[index]["name"]).upper() for index in kept])
    widths = [max(len(row[place]) for row in rows) for place in range(len(kept))]
    return "\n".join(
        "   ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _cell(value: Any) -> str:
    if value is None:
        return "<none>"
    return str(value).lower() if isinstance(value, bool) else str(value)
