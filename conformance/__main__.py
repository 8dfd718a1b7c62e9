"""`python -m conformance`: judge stored histories again, list faults, schemas, check, join and compare
reports, look at this machine.

Exit codes
  0  everything asked for is true
  1  something differs: a verdict from the stored one, a report from its own cases, a report from
     another; a merged report violates or is unknown; no kind of cluster would work here (doctor);
     something of killed runs is still there (cleanup)
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
    from conformance.operator import faults

    print(faults.render(faults.of_reference()))
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


def _docs(arguments: argparse.Namespace) -> int:
    from conformance.report import documents

    for path in documents.write(arguments.write):
        print(path)
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


def _summary(arguments: argparse.Namespace) -> int:
    from conformance.report import markdown

    print(markdown.of_folder(arguments.folder), end="")
    if arguments.outputs is not None:
        with arguments.outputs.open("a", encoding="utf-8") as file:
            file.write(markdown.outputs(arguments.folder))
    return 0


def _merge(arguments: argparse.Namespace) -> int:
    from conformance.report import merge, terminal
    from conformance.report.model import Summary

    reports = merge.merge(arguments.target, arguments.folders)
    for report in reports:
        place, color = str(arguments.target), sys.stdout.isatty()
        print(terminal.summary(report, results=place, width=_width(), color=color))
    bad = (Summary.VIOLATES, Summary.UNKNOWN)
    return EXIT_DIFFERS if any(report.verdict in bad for report in reports) else 0


def _compare(arguments: argparse.Namespace) -> int:
    from conformance.report import compare, files

    found = []
    for place in (arguments.one, arguments.other):
        paths = [place] if place.is_file() else files.find(place)
        if len(paths) > 1:
            raise UsageError(f"{place} holds reports of several operators; name one of the files")
        found.append(files.read(paths[0]))
    differences = compare.differences(*found)
    for difference in differences:
        print(difference)
    if not differences:
        print(f"the same, times aside: {len(found[0].cases)} cases, {found[0].verdict}")
    return EXIT_DIFFERS if differences else 0


def _cleanup(arguments: argparse.Namespace) -> int:
    from conformance.cluster import cleanup_command

    return cleanup_command.run(arguments)


def _doctor(arguments: argparse.Namespace) -> int:
    try:
        from conformance import doctor
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the package {error.name} is not installed for {sys.executable}; install the suite with "
            "its dependencies (make, or pip install dgd-conformance)"
        ) from None

    found = doctor.examine()
    if arguments.json:
        print(json.dumps(found.to_json(), indent=2, ensure_ascii=False))
    else:
        print(doctor.render(found, width=_width(), color=sys.stdout.isatty()))
    return 0 if found.works else EXIT_DIFFERS


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

    docs = commands.add_parser("docs", help="write the generated documentation")
    docs.add_argument(
        "--write", type=Path, metavar="DIR", required=True, help="the folder docs of a checkout"
    )
    docs.set_defaults(run=_docs)

    report = commands.add_parser("report", help="work with a ConformanceReport")
    actions = report.add_subparsers(metavar="ACTION", required=True, parser_class=_Parser)
    verify = actions.add_parser("verify", help="compute counts, verdict and digests again")
    verify.add_argument("folder", type=Path, metavar="DIR", help="results of a run, or a report")
    verify.set_defaults(run=_verify)
    merge = actions.add_parser("merge", help="join the results of all shards of a run (--shard)")
    merge.add_argument("target", type=Path, metavar="OUT", help="folder for the joined results")
    merge.add_argument(
        "folders", type=Path, nargs="+", metavar="DIR", help="results of one shard, for each"
    )
    merge.set_defaults(run=_merge)
    summary = actions.add_parser("summary", help="print a report as Markdown, for a CI")
    summary.add_argument("folder", type=Path, metavar="DIR", help="results of a run")
    summary.add_argument(
        "--outputs",
        type=Path,
        metavar="FILE",
        help="append verdict=... and report=... to this file",
    )
    summary.set_defaults(run=_summary)
    compare = actions.add_parser("compare", help="what one report says otherwise than another")
    for name, metavar in (("one", "DIR"), ("other", "OTHER")):
        compare.add_argument(name, type=Path, metavar=metavar, help="results, or a report")
    compare.set_defaults(run=_compare)

    cleanup = commands.add_parser(
        "cleanup",
        help="remove what killed runs left: kind clusters, or namespaces in a cluster",
        description="Without --kube-context: kind clusters that killed runs left on this machine. "
        "With it: namespaces and operators that they left in that cluster, known by their labels. "
        "An operator that they had stopped is started again.",
    )
    cleanup.add_argument(
        "--kube-context", dest="kube_context", metavar="NAME", help="context of the cluster"
    )
    cleanup.add_argument(
        "--kubeconfig", type=Path, metavar="PATH", help="default: KUBECONFIG, else ~/.kube/config"
    )
    cleanup.add_argument("--dry-run", action="store_true", help="only list what would be removed")
    cleanup.add_argument("--yes", action="store_true", help="do not ask (with --kube-context)")
    cleanup.add_argument(
        "--all",
        action="store_true",
        help="in a cluster, what runs that still go on made, too; else, kept kind clusters",
    )
    cleanup.set_defaults(run=_cleanup)

    doctor = commands.add_parser(
        "doctor", help="what this machine has, and which clusters it can be"
    )
    doctor.add_argument("--json", action="store_true", help="print JSON instead of tables")
    doctor.set_defaults(run=_doctor)
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
