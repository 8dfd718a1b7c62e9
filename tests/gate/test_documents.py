"""Documents name what is there: pages, headings, files, cases, tests, layers and faults."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from conformance.operator.faults import of_reference
from tests.gate.support import ROOT

DOCS = ROOT / "docs"
OWN_PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])
PAGES = [*OWN_PAGES, *(ROOT / "tools").rglob("*.md")]
FOLDERS = (
    "conformance",
    "cases",
    "operators",
    "fixtures",
    "tests",
    "docs",
    "ci",
    "tools",
    ".github",
)
TEXTS = {".py", ".md", ".yaml", ".yml", ".sh", ".toml", ".json", ".j2", ".html", ""}
CATALOGUE = (DOCS / "faults.md").read_text(encoding="utf-8")


def slug(heading: str) -> str:
    """The anchor that GitHub makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def prose(path: Path) -> str:
    """A page without its code blocks."""
    return re.sub(r"^```.*?^```", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)


def texts() -> Iterator[Path]:
    files = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*") if path.is_file()]
    for path in [*files, *ROOT.glob("*.*"), ROOT / "Makefile"]:
        if path.is_file() and path.suffix in TEXTS and "__pycache__" not in path.parts:
            yield path


@pytest.mark.parametrize("page", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_links_between_pages_resolve(page: Path) -> None:
    broken = []
    for target in re.findall(r"\]\(([^)\s]+)\)", prose(page)):
        if re.match(r"[a-z]+:", target):
            continue
        name, _, anchor = target.partition("#")
        file = (page.parent / name).resolve() if name else page
        headings = re.findall(r"^#+ (.+)$", prose(file), re.M) if file.suffix == ".md" else []
        if not file.exists() or (anchor and anchor not in map(slug, headings)):
            broken.append(target)
    assert broken == []


@pytest.mark.parametrize("page", OWN_PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_files_that_pages_name_are_there(page: Path) -> None:
    folders = "|".join(folder.replace(".", r"\.") for folder in FOLDERS)
    named = re.findall(rf"`((?:{folders})/[\w./*-]+)`", page.read_text(encoding="utf-8"))
    assert [name for name in named if not any(ROOT.glob(name))] == []


def test_every_page_of_docs_can_be_reached_from_the_readme() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        if page in reached or not page.is_file():
            continue
        reached.add(page)
        for target in re.findall(r"\]\(([^)\s#]+\.md)[^)]*\)", prose(page)):
            waiting.append((page.parent / target).resolve())
    assert set(DOCS.rglob("*.md")) - reached == set()


def test_faults_that_anything_names_by_id_are_in_the_catalogue() -> None:
    known = set(re.findall(r"^\| (F\d\d) ", CATALOGUE, re.M))
    assert known == {f"F{number:02}" for number in range(1, 96)}
    unknown = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in texts()
        for name in re.findall(r"\bF\d\d\b", path.read_text(encoding="utf-8"))
        if name not in known
    }
    assert unknown == set()


def test_nothing_refers_to_a_document_that_is_not_here() -> None:
    elsewhere = re.compile(r"\N{SECTION SIGN}|\(design\b|\bdesign: |real-operators")
    own = Path(__file__)
    found = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in texts()
        if path != own
        for line in path.read_text(encoding="utf-8").splitlines()
        if elsewhere.search(line)
    ]
    assert found == []


def test_the_catalogue_names_cases_that_there_are() -> None:
    cases = {
        f"{path.name}::{name}"
        for path in (ROOT / "cases").glob("test_*.py")
        for name in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.M)
    }
    assert set(re.findall(r"`(test_\w+\.py::\w+)`", CATALOGUE)) - cases == set()


@pytest.mark.parametrize("page", OWN_PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_tests_that_pages_name_are_there(page: Path) -> None:
    code = "".join(
        path.read_text(encoding="utf-8")
        for folder in ("tests", "cases")
        for path in (ROOT / folder).rglob("test_*.py")
    )
    named = set(re.findall(r"`(?:test_\w+\.py::)?(test_\w+)`", page.read_text(encoding="utf-8")))
    assert {name for name in named if not re.search(rf"^def {name}\(", code, re.M)} == set()


def test_the_table_of_layers_has_the_order_that_the_linter_enforces() -> None:
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (contract,) = (c for c in settings["tool"]["importlinter"]["contracts"] if "layers" in c)
    rank = {
        ".".join(module.split(".")[:2]): number
        for number, row in enumerate(contract["layers"])
        for module in re.split(r" [|:] ", row)
    }
    page = (DOCS / "ARCHITECTURE.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| `(conformance\.\w+)` \|", page, re.M)
    assert set(rank) - set(told) == {"conformance.__main__", "conformance.paths"}
    assert [rank[layer] for layer in told] == sorted(rank[layer] for layer in told)


def test_the_glossary_is_short_and_says_each_word_once() -> None:
    glossary = (DOCS / "glossary.md").read_text(encoding="utf-8")
    words = re.findall(r"^\| \*\*(.+?)\*\*", glossary, re.M)
    assert 0 < len(words) <= 25
    assert len(set(words)) == len(words)


def test_the_catalogue_names_every_mutant() -> None:
    page = (DOCS / "faults.md").read_text(encoding="utf-8")
    known = {name for faults in of_reference().values() for name in faults}
    assert sorted(name for name in known if f"`{name}`" not in page) == []
