"""Checks of a page of a report."""

import re
from xml.etree.ElementTree import Element

import html5lib

XHTML = "{http://www.w3.org/1999/xhtml}"
LOADED = ("src", "srcset", "data", "action", "poster", "href", "{http://www.w3.org/1999/xlink}href")


def checked(page: str) -> Element:
    """Parse a page strictly, assert that it loads and runs nothing and repeats no identifier, and return its root."""
    root: Element = html5lib.HTMLParser(strict=True).parse(page)
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert not tags & {"script", "link", "iframe", "object", "embed", "img", "image", "form", "base", "foreignObject"}
    for element in root.iter():
        for name, value in element.items():
            assert not name.startswith("on")
            assert name not in LOADED or value.startswith("#"), (name, value)
            assert "url(" not in value or value.startswith("url(#"), value
    assert "@import" not in page
    assert "url(" not in "".join(style.text or "" for style in root.iter(f"{XHTML}style"))
    names = [element.get("id") for element in root.iter() if element.get("id")]
    assert len(names) == len(set(names))
    targets = {value[1:] for e in root.iter() for name, value in e.items() if name in LOADED}
    assert targets <= set(names)
    return root


def titles(root: Element) -> list[str]:
    """Return the titles of the sections."""
    return [text(element) for element in root.iter(f"{XHTML}h2")]


def text(root: Element) -> str:
    """Return all text that a reader sees."""
    parts = [root.text or ""] if not root.tag.endswith("style") else []
    for child in root:
        parts += [text(child), child.tail or ""]
    return re.sub(r"\s+", " ", "".join(parts)).strip()
