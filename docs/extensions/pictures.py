"""Pictures for light and dark pages: ``<picture>``, as GitHub reads it, becomes two images of which one is shown.

The site has a switch of its own for light and dark, which ``<picture>`` does not know, and copies only images that are
written in Markdown.
"""

import re

from sphinx.application import Sphinx

PICTURE = re.compile(
    r'<picture>\s*<source media="\(prefers-color-scheme: dark\)" srcset="(?P<dark>[^"]+)">\s*'
    r'<img alt="(?P<alt>[^"]*)" src="(?P<light>[^"]+)">\s*</picture>'
)


def as_images(text: str) -> str:
    """Return a page with two images in Markdown in the place of each picture.

    >>> source = '<source media="(prefers-color-scheme: dark)" srcset="a-dark.svg">'
    >>> print(as_images(f'<picture>{source}<img alt="A" src="a.svg"></picture>'))
    ![A](a.svg){.light-only}
    ![A](a-dark.svg){.dark-only}
    """
    return PICTURE.sub(r"![\g<alt>](\g<light>){.light-only}\n![\g<alt>](\g<dark>){.dark-only}", text)


def read(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Change a page that was read."""
    source[0] = as_images(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the reading of pages."""
    app.connect("source-read", read)
    return {"parallel_read_safe": True}
