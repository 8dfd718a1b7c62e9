"""`python -m conformance.cluster.programs`: prepare all programs, and print where each came from."""

import argparse
import sys

from conformance.cluster.programs.prepare import ensure
from conformance.model.errors import ConformanceError, Exit, UsageError


def main() -> int:
    """0: all programs are there; 3: a build failed; 4: the user can mend it; 130: interrupted."""
    argparse.ArgumentParser(
        prog="python -m conformance.cluster.programs",
        description="Find, download or build the programs of the embedded control plane.",
    ).parse_args()
    try:
        programs = ensure()
    except ConformanceError as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.USAGE if isinstance(error, UsageError) else Exit.UNKNOWN
    except KeyboardInterrupt:
        print("interrupted; the next run goes on from here", file=sys.stderr)
        return 130
    print(programs.table())
    return 0


if __name__ == "__main__":
    sys.exit(main())
