"""How Sphinx builds the site: ``make docs``. The sources are Markdown, and read well without the site, too.

The sources begin at the top of the repository, so that pages beside the code and the examples are pages of the site.
"""

import sys
from pathlib import Path

from sphinx.application import Sphinx

import polydom_builder
import polydom_runtime

for package in (polydom_runtime, polydom_builder):
    for name in package.__all__:  # some are imported when they are first used; autodoc sees only what is there
        setattr(package, name, getattr(package, name))

sys.path.insert(0, str(Path(__file__).parents[1]))

project = "Poly-Dom"
copyright = "the Poly-Dom authors"
version = release = polydom_runtime.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "docs.extensions.boards",
    "docs.extensions.commands",
    "docs.extensions.flowchart",
    "docs.extensions.pictures",
]
root_doc = "docs/index"
include_patterns = [
    *("docs/**", "examples/*/README.md", ".github/CONTRIBUTING.md"),
    *("device_profiles/README.md", "device_profiles/boards/README.md"),
]
exclude_patterns = [".venv*", "build", ".cache", "**/__pycache__"]

myst_enable_extensions = ["attrs_inline", "deflist"]
myst_heading_anchors = 4
myst_fence_as_directive = ["mermaid"]
default_role = "py:obj"  # single backticks of docstrings: a link if it names something, else code

napoleon_google_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True
autodoc_typehints = "none"  # docstrings say them, with shapes and units
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True  # a default such as os.environ is shown by its name, never by what it holds
python_maximum_signature_line_length = 80

suppress_warnings = ["ref.python"]  # a name in single backticks may be one of two classes

html_theme = "furo"
html_title = "Poly-Dom"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_additional_pages = {"index": "start.html"}
templates_path = ["templates"]
highlight_language = "none"  # of blocks that name no language, such as output
pygments_style = "friendly"
pygments_dark_style = "monokai"


def of_scikit_learn(_app: object, _kind: str, name: str, value: object, skip: bool, _options: object) -> bool:
    """Leave out methods of scikit-learn, and those that it makes for routing: they refer to its own pages."""
    foreign = str(getattr(value, "__module__", "")).startswith("sklearn.")
    return skip or foreign or (name.startswith("set_") and name.endswith("_request"))


def setup(app: Sphinx) -> None:
    """Connect what the settings above cannot say."""
    app.connect("autodoc-skip-member", of_scikit_learn)
