"""Work with stored results of the DGD conformance suite, and with what its runs need and leave.

Exit codes
  0  everything is as it should be
  1  something differs: a verdict from the stored one, a report from its own cases, a report from
     another; a merged report violates or is unknown; no kind of cluster works here (doctor);
     something that killed runs left is still there (cleanup)
  3  a history could not be read or has no stored verdict to compare with
  4  a mistake in the command line or in a file that it names, told in one sentence
  5  there is no history, so nothing was judged
"""

import argparse
import pkgutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from conformance import __version__
from conformance.model.errors import ConformanceError, Exit, UsageError

_PROGRAM = "python -m conformance"
_Option = tuple[tuple[str, ...], dict[str, Any]]


def _option(*flags: str, **settings: Any) -> _Option:
    return flags, settings


@dataclass(frozen=True, slots=True, kw_only=True)
class _Command:
    """`run` is `module:function`, imported only when the command is given; by default a function of
    `report.commands` that is called like the command."""

    help: str
    example: str
    options: tuple[_Option, ...] = ()
    more: str = ""
    run: str = ""


_JSON = _option("--json", action="store_true", help="print JSON instead of tables")
_RESULTS = _option("folder", type=Path, metavar="DIR", help="results of a run")
_REPORT = {"type": Path, "help": "results of a run, or a report"}
_COMMANDS = {
    "recheck": _Command(
        help="judge stored histories again, without a cluster",
        example="recheck results", options=(_RESULTS, _JSON),
    ),
    "report verify": _Command(
        help="compute counts, verdict, concessions and digests of a report again",
        example="report verify results", options=(_option("folder", metavar="DIR", **_REPORT),),
    ),
    "report summary": _Command(
        help="print a report as Markdown, for the page of a CI run",
        example='report summary results --outputs "$GITHUB_OUTPUT"',
        options=(
            _RESULTS,
            _option("--outputs", type=Path, metavar="FILE",
                    help="append verdict=... and report=... to FILE"),
        ),
    ),
    "report compare": _Command(
        help="say how two reports differ, apart from times",
        example="report compare before after",
        options=(_option("one", metavar="DIR", **_REPORT),
                 _option("other", metavar="OTHER", **_REPORT)),
    ),
    "report merge": _Command(
        help="join the results of all shards of a run (--shard)",
        example="report merge merged shard-1 shard-2 shard-3",
        options=(
            _option("target", type=Path, metavar="OUT", help="folder for the joined results"),
            _option("folders", type=Path, nargs="+", metavar="DIR", help="results of each shard"),
        ),
    ),
    "doctor": _Command(
        help="say what this machine has, and which kinds of cluster work on it",
        example="doctor", options=(_JSON,), run="conformance.doctor.command:run",
    ),
    "cleanup": _Command(
        help="clean up after killed runs, on this machine or in a cluster",
        more="Without --kube-context, removes kind clusters that killed runs left on this machine. "
        "With it, removes their namespaces and operators from that cluster, known by their labels, and "
        "scales an operator back up that they had stopped.",
        example="cleanup --kube-context=test --dry-run",
        run="conformance.cluster.cleanup_command:run",
        options=(
            _option("--kube-context", metavar="NAME", help="context of the cluster"),
            _option("--kubeconfig", type=Path, metavar="PATH",
                    help="default: KUBECONFIG, else ~/.kube/config"),
            _option("--dry-run", action="store_true", help="only list what would be removed"),
            _option("--yes", action="store_true", help="do not ask (with --kube-context)"),
            _option("--all", action="store_true",
                    help="with --kube-context, also what belongs to runs that still go on; without, "
                    "also kind clusters that were kept on purpose"),
        ),
    ),
    "faults": _Command(
        help="list the reference operator's faults: name, checker, case", example="faults"
    ),
    "schema": _Command(
        help="print or write the published JSON schemas",
        example="schema conformance-report",
        options=(
            _option("document", nargs="?", choices=("conformance-report", "profile"),
                    default="profile"),
            _option("--write", type=Path, metavar="DIR", help="write all of them into DIR"),
        ),
    ),
    "docs": _Command(
        help="write the documentation that is made from the code",
        example="docs --write docs",
        options=(
            _option("--write", type=Path, metavar="DIR", required=True,
                    help="the docs folder of a checkout"),
        ),
    ),
}  # fmt: skip


class _Parser(argparse.ArgumentParser):
    """argparse exits with 2; the suite's exit code for a mistake of the user is 4, as pytest's."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def _parser() -> argparse.ArgumentParser:
    raw = argparse.RawDescriptionHelpFormatter
    parser = _Parser(prog=_PROGRAM, description=__doc__, formatter_class=raw)
    parser.add_argument("--version", action="version", version=__version__)
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=_Parser)
    report = commands.add_parser("report", help="verify, summarize, compare or merge reports")
    actions = report.add_subparsers(metavar="ACTION", required=True, parser_class=_Parser)
    for name, command in _COMMANDS.items():
        group, _, action = name.rpartition(" ")
        one = (actions if group else commands).add_parser(
            action,
            help=command.help,
            description=command.more or f"{command.help[0].upper()}{command.help[1:]}.",
            epilog=f"example: {_PROGRAM} {command.example}",
        )
        for flags, settings in command.options:
            one.add_argument(*flags, **settings)
        one.set_defaults(run=command.run or f"conformance.report.commands:{action}")
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command; its exit code. A user's mistake is one sentence on stderr."""
    try:
        arguments = _parser().parse_args(argv)
        run: Callable[[argparse.Namespace], int] = pkgutil.resolve_name(arguments.run)
        return run(arguments)
    except ModuleNotFoundError as error:
        text = (
            f"the package {error.name} is not installed for {sys.executable}; install the suite with "
            "its dependencies (make, or pip install dgd-conformance)"
        )
        code = Exit.USAGE
    except OSError as error:
        place = f"{error.filename}: " if error.filename else ""
        text, code = f"{place}{error.strerror or error}", Exit.USAGE
    except ConformanceError as error:
        text, code = str(error), Exit.USAGE if isinstance(error, UsageError) else Exit.UNKNOWN
    print(f"error: {text}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
