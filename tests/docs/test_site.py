"""The site is built without a warning, its links lead somewhere, and it loads nothing from elsewhere."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

import polydom_builder
import polydom_builder.__main__
import polydom_runtime
import polydom_runtime.__main__

ROOT = Path(__file__).parents[2]
LOADED = {
    ("script", "src"),
    ("img", "src"),
    ("link", "href"),
    ("iframe", "src"),
    ("source", "srcset"),
    ("video", "src"),
}


class Page(HTMLParser):
    """A page: its anchors, where it links to, and what it loads."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: set[str] = set()
        self.loads: set[str] = set()
        self.feed(file.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if name == "id":
                self.anchors.add(value or "")
            elif (tag, name) in LOADED:
                self.loads.add(value or "")
            elif (tag, name) == ("a", "href"):
                self.links.add(value or "")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of the site, built as `make docs` does, where warnings are errors."""
    (line,) = re.findall(r"^\t\$\(HOST\)/sphinx-build (.*)$", (ROOT / "Makefile").read_text(), re.MULTILINE)
    *options, folder = line.split()
    assert "-W" in options
    assert folder == "build/docs"
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", *options, str(out)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return out


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Return all pages by their files."""
    return {file.resolve(): Page(file) for file in site.rglob("*.html")}


@pytest.mark.end_to_end
def test_every_link_and_anchor_leads_somewhere(pages: dict[Path, Page]) -> None:
    lost = []
    for file, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            target = (file.parent / unquote(parts.path)).resolve() if parts.path else file
            anchors = pages[target].anchors if target in pages else {parts.fragment}
            if not parts.scheme and not (target.exists() and parts.fragment in anchors | {""}):
                lost.append((file.name, link))

    assert len(pages) > 30
    assert lost == []


@pytest.mark.end_to_end
def test_nothing_is_loaded_from_elsewhere(site: Path, pages: dict[Path, Page]) -> None:
    loads = {(file, load) for file, page in pages.items() for load in page.loads if not load.startswith("data:")}
    styles = {
        (sheet, url)
        for sheet in site.rglob("*.css")
        for url in re.findall(r"(?:url\(|@import )[\"']?([^\"')]+)", sheet.read_text("utf-8"))
    }
    outside = {(file.name, load) for file, load in loads | styles if re.match(r"(\w+:)?//", load)}
    missing = {(file.name, load) for file, load in loads if not (file.parent / urlsplit(load).path).exists()}

    assert len(loads) > 100
    assert (outside, missing) == (set(), set())


@pytest.mark.end_to_end
def test_no_page_shows_the_environment_of_the_build(site: Path) -> None:
    name = "POLYDOM_NODE_PYTHON"  # the tests run with it; only pages on development could name it
    holders = [file.name for file in site.rglob("*.html") if "environ({" in file.read_text("utf-8")]

    assert holders == []
    assert not [file.name for file in (site / "docs" / "reference").glob("*.html") if name in file.read_text("utf-8")]


@pytest.mark.end_to_end
def test_reference_has_every_command_and_every_promised_name(site: Path, pages: dict[Path, Page]) -> None:
    reference = (site / "docs" / "reference").resolve()

    for package, page in ((polydom_runtime, "runtime"), (polydom_builder, "builder")):
        named = {f"{package.__name__}.{name}" for name in package.__all__}
        assert named - pages[reference / f"{page}.html"].anchors == set()
    for program, module in (("polydom", polydom_builder.__main__), ("polydom-node", polydom_runtime.__main__)):
        commands = {f"{program}-{name}" for name in module.COMMANDS}
        assert commands - pages[reference / "commands.html"].anchors == set()
