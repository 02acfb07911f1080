"""Pictures as files, each for light and for dark pages, and inside a page of HTML."""

import io
import re
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from pathlib import Path

from matplotlib.figure import Figure

from polydom_runtime.files import replacing

from .style import DARK, LIGHT, style

FigureMaker = Callable[[], Figure]

DPI = 200
SVG, XLINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}"


def save(figure_maker: FigureMaker, path: Path) -> list[Path]:
    """Write ``NAME.svg`` and ``NAME.png`` for light pages, ``NAME-dark.svg`` and ``NAME-dark.png`` for dark ones.

    The background is transparent. The same picture gives the same bytes, with the same version of matplotlib. Letters
    are paths, so that they look the same everywhere.

    `figure_maker`: a function that draws and returns the figure; called once for each kind of page, inside the style.
    `path`: the folder and NAME.
    """
    files = []
    for suffix, colours in (("", LIGHT), ("-dark", DARK)):
        with style(colours):
            figure = figure_maker()
            for kind, absent in (("png", ("Software",)), ("svg", ("Date", "Creator"))):
                files.append(path.with_name(f"{path.name}{suffix}.{kind}"))
                with replacing(files[-1], sync=False) as stream:
                    figure.savefig(stream, format=kind, dpi=DPI, metadata=dict.fromkeys(absent))
                figure.set_layout_engine("none")  # the second file gets the layout of the first
    return files


def inline_svg(figure_maker: FigureMaker, name: str, description: str) -> str:
    """Return a picture as an ``svg`` element that takes its colours from variables of the page, and its font.

    All texts in it are escaped.

    `figure_maker`: see `save`. `name`: letters that no other picture of the page has as its name. The identifiers in
    the picture begin with it. `description`: a text for those who cannot see the picture.
    """
    stream = io.StringIO()
    with style(LIGHT, **{"svg.fonttype": "none"}):
        figure_maker().savefig(stream, format="svg", metadata={"Date": None})
    root = ElementTree.fromstring(stream.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{SVG}metadata", f"{SVG}style"):  # a style in it would be one of the whole page
                parent.remove(child)
    _rename(root, name)
    for element in root.iter():
        element.tag = element.tag.removeprefix(SVG)
        for key in set(element.keys()) & {"d", "x", "y", "transform"}:
            element.set(key, re.sub(r"(\.\d\d)\d+", r"\1", element.attrib[key]).replace("  ", " "))
        if "style" in element.attrib:
            element.set("style", _coloured(element.get("style", "")))
    width, height = root.get("width", ""), root.get("height", "")
    root.attrib = {"viewBox": root.get("viewBox", f"0 0 {width} {height}"), "role": "img", "aria-label": description}
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _rename(root: ElementTree.Element, name: str) -> None:
    """Keep only identifiers that are referred to, and begin them with a name: a page may hold several pictures."""
    texts = [value for element in root.iter() for key, value in element.items() if key != "id"]
    for element in root.iter():
        if (own := element.attrib.pop("id", None)) and any(f"#{own}" in text for text in texts):
            element.set("id", f"{name}-{own}")
        if (reference := element.attrib.pop(f"{XLINK}href", None)) is not None:
            element.set("href", reference.replace("#", f"#{name}-"))
        if "clip-path" in element.attrib:
            element.set("clip-path", element.attrib["clip-path"].replace("#", f"#{name}-"))


def _coloured(css: str) -> str:
    """Return a style whose colours are variables of the page, and whose font is that of the page."""
    for name, colour in LIGHT.items():
        css = css.replace(colour, f"var(--{name})")
    return "; ".join(part for part in css.split("; ") if not part.startswith("font-family"))
