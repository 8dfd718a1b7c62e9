"""Profiles on disk: found by name or path, checked, and every mistake told in one sentence.

A name stands for operators/<name>/profile.yaml or operators/<folder>/<name>.yaml.
"""

from __future__ import annotations

import difflib
import hashlib
import re
from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import yaml
from pydantic import ValidationError

from conformance import paths
from conformance.model.errors import UsageError
from conformance.model.profile import Profile
from conformance.operator import faults
from conformance.operator.profile_errors import complaint
from conformance.operator.templates import fill

PROFILE_FILE = "profile.yaml"

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedProfile:
    """A profile, and the file it came from: its relative paths start at `directory`."""

    profile: Profile
    path: Path
    given: str
    """Name or path by which it was asked for."""
    sha256: str = ""
    """Digest of the file, in hex."""
    faults: tuple[str, ...] = ()
    """Names that `--fault` accepts: those of the profile, and those of its table."""

    @property
    def name(self) -> str:
        """The operator's name, as in reports."""
        return self.profile.identity.name

    @property
    def shown(self) -> str:
        """The file as errors name it."""
        return _shown(self.path)

    @property
    def directory(self) -> Path:
        """Where the profile's relative paths start."""
        return self.path.parent


def known() -> list[str]:
    """Names that `load` understands, sorted. Those that begin with `_` are for copying, not
    running."""
    return sorted(name for name in _named() if not name.startswith("_"))


def load(name_or_path: str | Path) -> LoadedProfile:
    """The profile of that name, or in that file or directory.

    Raises UsageError, one sentence, for an unknown name, a missing file, bad YAML or a bad table of
    faults; a sentence and a line for each bad field and each placeholder that no installation fills
    in.
    """
    path = _find(str(name_or_path))
    content = path.read_bytes()
    profile = parse(content.decode("utf-8"), where=_shown(path))
    where = _shown(path)
    problems = [
        *_check_templates(profile, where=where),
        *_check_files(profile, path.parent, where=where),
    ]
    if problems:
        raise UsageError("\n".join(problems))
    table = faults.read(path.parent / profile.fault_table) if profile.fault_table else {}
    return LoadedProfile(
        profile=profile,
        path=path,
        given=str(name_or_path),
        sha256=hashlib.sha256(content).hexdigest(),
        faults=(*profile.faults, *table.get(profile.identity.name, {})),
    )


def parse(text: str, *, where: str) -> Profile:
    """The profile that a YAML text holds; `where` names the file in errors. Raises UsageError."""
    try:
        data = yaml.load(text, Loader=_UniqueKeys)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = f" in line {mark.line + 1}" if mark else ""
        raise UsageError(f"{where} is not YAML{line}: {error.problem or error.context}") from error
    except yaml.YAMLError as error:
        raise UsageError(f"{where} is not YAML: {error}") from error
    if not isinstance(data, dict):
        found = "nothing" if data is None else f"a {type(data).__name__}"
        raise UsageError(f"{where} holds {found}; expected a mapping that starts with `identity:`")
    try:
        return Profile.model_validate(data)
    except ValidationError as error:
        lines = complaint(error, Profile).splitlines()
        raise UsageError("\n".join(f"{where}: {line}" for line in lines)) from error


def profile_schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of a profile, for editors and for profiles kept elsewhere.
    Published as docs/schema/profile.schema.json."""
    schema = {"$schema": "https://json-schema.org/draft/2020-12/schema"}
    return {**schema, **Profile.model_json_schema()}


def _named() -> dict[str, Path]:
    """Name → file of every shipped profile. A folder either holds one profile.yaml and what belongs
    to it, or several profiles by name."""
    found: dict[str, Path] = {}
    for folder in sorted(paths.operators().iterdir()):
        single = folder / PROFILE_FILE
        if single.is_file():
            found[folder.name] = single
            continue
        for file in sorted(folder.glob("*.yaml")):
            if re.search(r"^identity:", file.read_text(encoding="utf-8"), re.MULTILINE):
                found[file.stem] = file
    return found


def _find(wanted: str) -> Path:
    if "/" not in wanted and not wanted.endswith((".yaml", ".yml")):
        named = _named()
        if wanted in named:
            return named[wanted]
    path = Path(wanted).expanduser()
    if wanted and path.is_dir():
        path = path / PROFILE_FILE
        if not path.is_file():
            raise UsageError(f"--operator={wanted} is a directory without a {PROFILE_FILE}")
    if wanted and path.is_file():
        return path.resolve()
    if "/" in wanted or wanted.endswith((".yaml", ".yml")):
        raise UsageError(f"--operator={wanted}: there is no such file or directory")
    names = known()
    close = difflib.get_close_matches(wanted, names, n=1)
    hint = f"did you mean {close[0]}? Known are" if close else "known are"
    raise UsageError(
        f"--operator={wanted} is neither a known operator nor a path; {hint} {', '.join(names)}"
    )


def _check_templates(profile: Profile, *, where: str) -> Iterator[str]:
    """Fill every template with stand-ins: a misspelled placeholder costs a second then, and not an
    installation."""
    for field, template, known in (*_process_templates(profile), *_pod_templates(profile)):
        try:
            fill(template, known, where=f"{where}: `{field}`")
        except UsageError as error:
            yield str(error)


_Template: TypeAlias = tuple[str, str, dict[str, str]]
"""Field, template, and the names that it may use."""


def _process_templates(profile: Profile) -> Iterator[_Template]:
    install = profile.install
    if install is None:
        return
    names = {*PLACEHOLDERS, *(f"port_{name}" for name in (*install.ports, *install.fixed_ports))}
    values = dict.fromkeys(names, "")
    # The certificate directory is itself a placeholder of the others.
    without = {name: "" for name in names if name != "cert_dir"}
    templates = [
        *((f"command.{index}", part, values) for index, part in enumerate(install.command)),
        *((f"env.{name}", value, values) for name, value in install.env.items()),
        ("ready", install.ready, values),
        ("cert_dir", install.cert_dir, without),
        ("fault_argument", install.fault_argument, {**values, "fault": ""}),
    ]
    for index, file in enumerate(install.files):
        templates += [
            (f"files.{index}.path", file.path, values),
            (f"files.{index}.content", file.content, values),
        ]
    for field, template, known in templates:
        yield f"install.{field}", template, known


def _pod_templates(profile: Profile) -> Iterator[_Template]:
    install = profile.in_cluster
    if install is None:
        return
    yield "in_cluster.fault_argument", install.fault_argument, {"fault": ""}
    known = dict.fromkeys(VALUE_PLACEHOLDERS, "")
    for field, value in _strings(install.values, "in_cluster.values"):
        yield field, value, known


def _strings(value: Any, field: str) -> Iterator[tuple[str, str]]:
    """Every text in the values of a chart, with its path."""
    if isinstance(value, str):
        yield field, value
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _strings(part, f"{field}.{key}")
    elif isinstance(value, list):
        for index, part in enumerate(value):
            yield from _strings(part, f"{field}.{index}")


_PATHS = {
    "install": ("prerequisites", "crds", "webhooks", "rbac"),
    "in_cluster": ("prerequisites", "crds", "manifests"),
}


def _check_files(profile: Profile, directory: Path, *, where: str) -> Iterator[str]:
    pods = profile.in_cluster
    single = {"dockerfile": pods.dockerfile, "chart": pods.chart_path} if pods else {}
    for part, fields in _PATHS.items():
        install = getattr(profile, part)
        listed = {field: getattr(install, field) for field in fields} if install else {}
        if part == "in_cluster":
            listed |= {field: [entry] for field, entry in single.items() if entry}
        for field, entries in listed.items():
            for entry in entries:
                if entry != "{crds}" and not (directory / entry).exists():
                    yield (
                        f"{where}: `{part}.{field}` lists {entry}, and there is no file or directory "
                        f"{_shown(directory / entry)}"
                    )


def _shown(path: Path) -> str:
    """The shorter of the absolute path and the one from here: what a user would type."""
    try:
        return str(path.relative_to(Path.cwd()))
    except ValueError:
        return str(path)


class _UniqueKeys(yaml.SafeLoader):
    """YAML that forbids a key twice in one mapping: the second would silently win."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: set[Any] = set()
        for key_node, _ in node.value:
            key = self.construct_object(key_node, deep=True)
            if isinstance(key, Hashable) and key in seen:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key} is given twice", key_node.start_mark
                )
            seen.add(key)
        return super().construct_mapping(node, deep=deep)
