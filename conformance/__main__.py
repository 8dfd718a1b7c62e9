"""`python -m conformance`: judge stored histories again, list faults, schemas, check a report.

Exit codes
  0  everything asked for is true
  1  something differs: a verdict from the stored one, a report from its own cases
  3  a history could not be read or has no stored verdict to compare with
  4  a mistake in the command line or in a file it names, told in one sentence
  5  no history found, so nothing was judged
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from conformance import __version__
from conformance.model.errors import ConformanceError, InfraError, UsageError

EXIT_DIFFERS = 1
EXIT_UNJUDGED = 3
EXIT_USAGE = 4
EXIT_NOTHING = 5


class _Parser(argparse.ArgumentParser):
    """argparse exits with 2; the suite's exit code for a mistake of the user is 4, as pytest's."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def _recheck(arguments: argparse.Namespace) -> int:
    from conformance.report import recheck

    folder: Path = arguments.folder
    if not folder.exists():
        raise UsageError(f"{folder} does not exist; give the folder that --results named")
    checks = recheck.recheck(folder)
    if arguments.json:
        print(json.dumps([check.to_json() for check in checks], indent=2, ensure_ascii=False))
    else:
        color = sys.stdout.isatty()
        print(recheck.render(checks, width=_width(), color=color))
    if not checks:
        return EXIT_NOTHING
    if any(check.differs for check in checks):
        return EXIT_DIFFERS
    return 0 if all(check.same for check in checks) else EXIT_UNJUDGED


def _faults(_arguments: argparse.Namespace) -> int:
    from conformance.report import faults

    print(faults.render(faults.load()))
    return 0


def _schema(arguments: argparse.Namespace) -> int:
    from conformance.report import files

    if arguments.write is not None:
        for path in files.write_schemas(arguments.write):
            print(path)
        return 0
    model = files.SCHEMAS[f"{arguments.document}.schema.json"]
    print(json.dumps(files.schema(model), indent=2))
    return 0


def _verify(arguments: argparse.Namespace) -> int:
    from conformance.report import files

    place: Path = arguments.folder
    paths = [place] if place.is_file() else files.find(place)
    wrong = False
    for path in paths:
        problems = files.verify(files.read(path), path.parent)
        wrong = wrong or bool(problems)
        for problem in problems:
            print(f"{path}: {problem}")
        if not problems:
            print(f"{path}: counts, verdict and the digest of every history are as stated")
    return EXIT_DIFFERS if wrong else 0


def _width() -> int:
    import shutil

    return shutil.get_terminal_size((100, 24)).columns


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="python -m conformance",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)

    recheck = commands.add_parser("recheck", help="judge stored histories again, without a cluster")
    recheck.add_argument("folder", type=Path, metavar="DIR", help="results of a run")
    recheck.add_argument("--json", action="store_true", help="print JSON instead of a table")
    recheck.set_defaults(run=_recheck)

    faults = commands.add_parser(
        "faults", help="list the reference operator's faults: name, checker, case"
    )
    faults.set_defaults(run=_faults)

    schema = commands.add_parser("schema", help="print or write the published JSON schemas")
    schema.add_argument(
        "document", nargs="?", choices=("conformance-report", "profile"), default="profile"
    )
    schema.add_argument("--write", type=Path, metavar="DIR", help="write all of them into DIR")
    schema.set_defaults(run=_schema)

    report = commands.add_parser("report", help="work with a ConformanceReport")
    actions = report.add_subparsers(metavar="ACTION", required=True, parser_class=_Parser)
    verify = actions.add_parser("verify", help="compute counts, verdict and digests again")
    verify.add_argument("folder", type=Path, metavar="DIR", help="results of a run, or a report")
    verify.set_defaults(run=_verify)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code. A user's mistake is one sentence on stderr."""
    try:
        arguments = _parser().parse_args(argv)
        run: Callable[[argparse.Namespace], int] = arguments.run
        return run(arguments)
    except UsageError as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_USAGE
    except (InfraError, ConformanceError) as error:
        print(f"error: {error}", file=sys.stderr)
        return EXIT_UNJUDGED
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        print(f"error: {place}{error.strerror or error}", file=sys.stderr)
        return EXIT_USAGE


if __name__ == "__main__":
    sys.exit(main())
