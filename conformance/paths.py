"""Where the data that ships with the suite lies: operators, cases and fixtures.

In a checkout they stand at the top level beside the package, so that people find and edit them; in
a wheel they travel inside it, under `conformance/shipped`.
"""

from pathlib import Path

from conformance.model.errors import UsageError

SHIPPED = ("operators", "cases", "fixtures")


def root(package: Path | None = None) -> Path:
    """The folder that holds them; `package` is that of `conformance`, by default the running one.
    Raises UsageError if neither a checkout nor packaged data is there."""
    package = package or Path(__file__).resolve().parent
    for candidate in (package.parent, package / "shipped"):
        if all((candidate / name).is_dir() for name in SHIPPED):
            return candidate
    wanted = ", ".join(f"{name}/" for name in SHIPPED)
    raise UsageError(
        f"the suite's own data is missing: expected {wanted} in {package.parent} (a checkout) or "
        f"in {package / 'shipped'} (an installed package); install dgd-conformance again"
    )


def operators() -> Path:
    """The folder of the shipped profiles, one folder an operator."""
    return root() / "operators"


def cases() -> Path:
    """The folder of the shipped cases."""
    return root() / "cases"
