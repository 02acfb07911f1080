"""What the two distributions say of themselves: version, licence, authors, changes."""

import json
import os
import re
import subprocess
import sys
import tomllib
from importlib.metadata import PackageMetadata, metadata, requires, version
from pathlib import Path
from typing import Any

import pytest

import polydom_builder
import polydom_builder.__main__
import polydom_runtime
import polydom_runtime.__main__

ROOT = Path(__file__).parents[1]
VERSIONS = {"runtime": polydom_runtime.__version__, "builder": polydom_builder.__version__}
COMMANDS = {"polydom-node": polydom_runtime.__main__.main, "polydom": polydom_builder.__main__.main}

in_both = pytest.mark.parametrize("part", VERSIONS)


def project(part: str) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((ROOT / part / "pyproject.toml").read_text())["project"]
    return found


@in_both
def test_the_version_stands_in_the_package_only(part: str) -> None:
    assert project(part)["dynamic"] == ["version"]
    assert version(f"polydom-{part}") == VERSIONS[part], "this environment is older than the version: make clean test"


@in_both
def test_the_newest_release_of_the_changelog_is_this_version(part: str) -> None:
    headings = re.findall(r"^## \[?([^\s\]]+)\]?", (ROOT / part / "CHANGELOG.md").read_text(), flags=re.MULTILINE)

    assert headings[:2] == ["Unreleased", VERSIONS[part]]


def test_the_builder_needs_the_runtime_of_its_own_version() -> None:
    assert VERSIONS["builder"] == VERSIONS["runtime"]
    assert f"polydom-runtime=={VERSIONS['runtime']}" in (requires("polydom-builder") or [])


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_tells_its_version(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        COMMANDS[command](["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out == f"{command} {VERSIONS['runtime']}\n"


@in_both
def test_the_licence_is_that_of_the_repository(part: str) -> None:
    """A wheel is built from its own folder, so the text is there a second time."""
    assert (ROOT / part / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@in_both
def test_the_metadata_names_licence_authors_and_kind(part: str) -> None:
    found: PackageMetadata = metadata(f"polydom-{part}")

    assert found["License-Expression"] == "BSD-3-Clause"
    assert found["License-File"] == "LICENSE"
    assert found["Author"] == "The Poly-Dom authors"
    assert found["Keywords"]
    assert "Typing :: Typed" in (found.get_all("Classifier") or [])


def test_the_wheel_on_the_node_has_licence_and_version() -> None:
    script = (
        "import json; from importlib.metadata import distribution;"
        "d = distribution('polydom-runtime');"
        "print(json.dumps([d.version, d.metadata['License-Expression'], d.read_text('licenses/LICENSE')]))"
    )
    node = os.environ.get("POLYDOM_NODE_PYTHON", str(ROOT / ".venv-node" / "bin" / "python"))
    done = subprocess.run([node, "-c", script], capture_output=True, text=True, check=True, cwd="/")

    assert json.loads(done.stdout) == [VERSIONS["runtime"], "BSD-3-Clause", (ROOT / "LICENSE").read_text()]


@pytest.mark.parametrize(("part", "command"), [("runtime", "polydom-node"), ("builder", "polydom")])
def test_the_installed_command_is_the_one_that_is_tested(part: str, command: str) -> None:
    done = subprocess.run([Path(sys.executable).with_name(command), "--version"], capture_output=True, text=True)

    assert done.stdout == f"{command} {VERSIONS[part]}\n"
