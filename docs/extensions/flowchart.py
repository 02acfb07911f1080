"""Flowcharts in Mermaid, which GitHub draws. The site shows their text: Mermaid's script comes from elsewhere."""

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


class Flowchart(SphinxDirective):
    """A block ``mermaid``: its nodes and arrows as text."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """Return the text of the block."""
        text = "\n".join(self.content)
        return [nodes.literal_block(text, text, language="text")]


def setup(app: Sphinx) -> dict[str, bool]:
    """Add the block."""
    app.add_directive("mermaid", Flowchart)
    return {"parallel_read_safe": True}
