"""Flowcharts."""
from docutils import nodes
from docutils.parsers.rst import Directive
class F(Directive):
    has_content = True
    def run(self):
        return [nodes.literal_block(text="\n".join(self.content))]
def setup(app):
    app.add_directive("mermaid", F)
    return {"parallel_read_safe": True}
