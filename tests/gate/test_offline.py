"""tools/kind-offline/where-needed.sh: who builds images, who pulls them, and who is told."""

import os
import shutil
from pathlib import Path

import pytest

from tests.gate.linters import tool
from tests.gate.support import ROOT, environment, executable, run

OFFLINE = ROOT / "tools" / "kind-offline"
SCRIPTS = [*sorted(OFFLINE.glob("*.sh")), ROOT / ".ci" / "run"]

IMAGE = "kindest/node:v1@sha256:0"
SAYS = (
    'echo "image=$DGD_CONFORMANCE_KIND_IMAGE registry=${DGD_CONFORMANCE_IMAGE_REGISTRY-unset} $*"'
)


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """The scripts, with builders that write down that they were called."""
    folder = tmp_path / "tools"
    folder.mkdir()
    for name in ("where-needed.sh", "env.sh", "lib.sh"):
        shutil.copy(OFFLINE / name, folder / name)
    for name in ("node-image.sh", "python-base.sh"):
        executable(folder / name, f"#!/bin/sh\necho {name} >>{tmp_path}/built\n")
    executable(tmp_path / "bin" / "id", "#!/bin/sh\necho ${USER_ID:-0}\n")
    for name in ("apt-get", "go"):
        executable(tmp_path / "bin" / name, "#!/bin/sh\n")
    return folder


def asked(tools: Path, docker: str, **env: str) -> tuple[str, str, list[str]]:
    """What the command was run with, what was told, and what was built."""
    place = tools.parent
    executable(place / "bin" / "docker", f'#!/bin/sh\ncase "$1" in {docker} *) exit 1 ;; esac\n')
    path = f"{place / 'bin'}{os.pathsep}{os.environ['PATH']}"
    done = run(
        tools / "where-needed.sh", IMAGE, "sh", "-c", SAYS, "sh", "a b", "c",
        cwd=place, env=environment(PATH=path, **env),
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    built = place / "built"
    return done.stdout, done.stderr, built.read_text().split() if built.exists() else []


@pytest.mark.parametrize(
    "docker",
    [
        pytest.param("info) exit 1 ;;", id="no-docker"),
        pytest.param("info|image) ;; pull) touch pulled ;;", id="image-there"),
        pytest.param("info|pull) ;;", id="image-pulled"),
    ],
)
def test_where_an_image_can_be_had_the_command_runs_as_it_is(tools: Path, docker: str) -> None:
    said, _, built = asked(tools, docker)
    assert said == "image= registry=unset a b c\n"
    assert built == []
    assert not (tools.parent / "pulled").exists()


def test_a_choice_of_the_users_is_not_overruled(tools: Path) -> None:
    said, _, built = asked(tools, "info) ;;", DGD_CONFORMANCE_KIND_IMAGE="mine:1")
    assert said == "image=mine:1 registry=unset a b c\n"
    assert built == []


def test_where_none_can_be_pulled_images_are_built_and_used(tools: Path) -> None:
    said, told, built = asked(tools, "info) ;;")
    assert said == "image=kindest/node:offline registry= a b c\n"
    assert built == ["node-image.sh", "python-base.sh"]
    assert f"{IMAGE} cannot be pulled" in told


def test_who_cannot_build_is_told_and_the_suite_says_the_rest(tools: Path) -> None:
    said, told, built = asked(tools, "info) ;;", USER_ID="1000")
    assert said == "image= registry=unset a b c\n"
    assert built == []
    assert "only root on Debian with Go" in told


def test_a_failed_build_ends_it_before_the_command(tools: Path) -> None:
    executable(tools / "node-image.sh", "#!/bin/sh\necho no space >&2\nexit 7\n")
    with pytest.raises(AssertionError, match="no space"):
        asked(tools, "info) ;;")


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_scripts_are_clean(path: Path) -> None:
    done = run(tool("shellcheck"), "--severity=warning", path, cwd=ROOT)
    assert done.returncode == 0, done.stdout
    assert os.access(path, os.X_OK) == (path.name not in ("env.sh", "lib.sh"))
