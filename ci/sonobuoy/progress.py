"""Reports to Sonobuoy's worker every few seconds how many cases are done: progress.py RESULTS PORT."""

from __future__ import annotations

import json
import sys
import time
import urllib.request
from pathlib import Path
from typing import Any

SECONDS = 5.0


def progress(results: Path) -> dict[str, Any] | None:
    """The message for the worker; None until the number of cases is known."""
    try:
        expected = json.loads((results / "live" / "cases.json").read_text())["cases"]
    except (OSError, ValueError, KeyError):
        return None
    total = sum(case["not_run"] is None for case in expected)
    done = [json.loads(path.read_text()) for path in (results / "cases").glob("*.json")]
    ran = [case for case in done if case["not_run"] is None]
    failed = sorted(case["id"] for case in ran if case["verdict"] != "conforms")
    return {
        "msg": f"{len(ran)} of {total} cases",
        "total": total,
        "completed": len(ran),
        "failures": failed,
    }


def main() -> None:
    """Report until this process is ended."""
    results, port = Path(sys.argv[1]), int(sys.argv[2])
    last = None
    while True:
        try:
            now = progress(results)
            if now is not None and now != last:
                request = urllib.request.Request(
                    f"http://127.0.0.1:{port}/progress",
                    data=json.dumps(now).encode(),
                    headers={"Content-Type": "application/json"},
                )
                # The environment's proxy must not be used for the container beside this one.
                opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
                opener.open(request, timeout=SECONDS).close()
                last = now
        except (OSError, ValueError, KeyError):
            pass  # The file is half written, or the worker does not listen; the results come anyway.
        time.sleep(SECONDS)


if __name__ == "__main__":
    main()
