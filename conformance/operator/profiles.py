"""Finds and loads profiles by name or path, and tells every mistake in one sentence.

A name stands for operators/<name>/profile.yaml or operators/<folder>/<name>.yaml.
"""

import difflib
import hashlib
import re
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from conformance import paths
from conformance.kube import load_manifests
from conformance.model.errors import UsageError
from conformance.model.profile import Profile
from conformance.operator import faults, templates
from conformance.operator.profile_errors import complaint

_PROFILE_FILE = "profile.yaml"
_FILE_FIELDS = {
    "install": ("prerequisites", "crds", "webhooks", "rbac"),
    "in_cluster": ("prerequisites", "crds", "manifests", "dockerfile", "chart_path"),
}
"""Part of a profile → its fields that name files."""


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
        return self.profile.identity.name

    @property
    def shown(self) -> str:
        """The file as errors name it."""
        return _shown(self.path)

    @property
    def directory(self) -> Path:
        return self.path.parent

    def filled(self, field: str, values: Mapping[str, str]) -> Any:
        """The value of a field, such as `install.env`, its templates filled in. Raises UsageError."""

        def fill_in(template: str, where: str) -> str:
            return templates.fill(template, values, where=f"{self.shown}: `{where}`")

        return templates.map_texts(self._value(field), field, fill_in)

    def manifests(self, field: str, *, crds: Path | None) -> list[dict[str, Any]]:
        """The objects in the files and directories that a field lists, without kustomizations; `{crds}`
        stands for `crds`. Raises UsageError that names the field or the option."""
        found: list[dict[str, Any]] = []
        for entry in self._value(field):
            if entry == "{crds}" and crds is not None:
                path, where = crds, f"--operator-crds={crds}"
            else:
                path, where = self.directory / entry, f"{self.shown}: `{field}`"
            files = (p for p in sorted(path.glob("*")) if p.suffix in (".yaml", ".yml", ".json"))
            try:
                for file in [p for p in files if p.stem != "kustomization"] or [path]:
                    found += load_manifests(file)
            except UsageError as error:
                raise UsageError(f"{where}: {error}") from error
        return found

    def _value(self, field: str) -> Any:
        part, _, name = field.partition(".")
        return getattr(self.profile, part).model_dump(include={name})[name]


def known() -> list[str]:
    """Names that `load` understands, sorted. Those that begin with `_` are for copying alone."""
    return sorted(name for name in _named() if not name.startswith("_"))


def load(name_or_path: str | Path) -> LoadedProfile:
    """The profile of that name, or in that file or directory.

    Raises UsageError: one sentence for an unknown name, a missing file, bad YAML or a bad table of
    faults; a line for each bad field, each unknown placeholder and each missing file.
    """
    path = _find(str(name_or_path))
    content = path.read_bytes()
    where = _shown(path)
    profile = parse(content.decode("utf-8"), where=where)
    problems = [*templates.problems(profile), *_missing_files(profile, path.parent)]
    if problems:
        raise UsageError("\n".join(f"{where}: {problem}" for problem in problems))
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


def _missing_files(profile: Profile, directory: Path) -> Iterator[str]:
    for part, fields in _FILE_FIELDS.items():
        install = getattr(profile, part)
        for field in fields if install else ():
            value = getattr(install, field)
            for entry in [value] if isinstance(value, str) else value:
                if entry not in ("", "{crds}") and not (directory / entry).exists():
                    yield (
                        f"`{part}.{field.removesuffix('_path')}` lists {entry}, and there is no file "
                        f"or directory {_shown(directory / entry)}"
                    )


def _shown(path: Path) -> str:
    """As a user would type it."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _named() -> dict[str, Path]:
    """Name → file. A folder holds one profile.yaml and what belongs to it, or several by name."""
    found: dict[str, Path] = {}
    for folder in sorted(paths.operators().iterdir()):
        single = folder / _PROFILE_FILE
        if single.is_file():
            found[folder.name] = single
            continue
        for file in sorted(folder.glob("*.yaml")):
            if re.search(r"^identity:", file.read_text(encoding="utf-8"), re.MULTILINE):
                found[file.stem] = file
    return found


def _find(wanted: str) -> Path:
    is_path = "/" in wanted or wanted.endswith((".yaml", ".yml"))
    named = {} if is_path else _named()
    if wanted in named:
        return named[wanted]
    path = Path(wanted).expanduser()
    if wanted and path.is_dir():
        path = path / _PROFILE_FILE
        if not path.is_file():
            raise UsageError(f"--operator={wanted} is a directory without a {_PROFILE_FILE}")
    if wanted and path.is_file():
        return path.resolve()
    if is_path:
        raise UsageError(f"--operator={wanted}: there is no such file or directory")
    names = known()
    close = difflib.get_close_matches(wanted, names, n=1)
    hint = f"did you mean {close[0]}? Known are" if close else "known are"
    raise UsageError(
        f"--operator={wanted} is neither a known operator nor a path; {hint} {', '.join(names)}"
    )


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
