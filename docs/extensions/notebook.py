"""The tutorial as a notebook: files are written by cells, commands are run by cells, all else is text.

``python -m docs.extensions.notebook`` runs it in an empty folder and writes ``docs/tutorial.ipynb``.
"""

import os
import re
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

DOCS = Path(__file__).parents[1]
BLOCK = re.compile(r"^```(python|ini|sh)\n(.*?)^```\n", re.MULTILINE | re.DOTALL)


def notebook(page: str) -> NotebookNode:
    """Return a page as a notebook that was not run.

    Parameters
    ----------
    page : str
        Markdown. A block ``python`` or ``ini`` begins with a comment that names its file; blocks ``sh`` are run. Other
        blocks are text.
    """
    cells, end = [], 0
    for block in BLOCK.finditer(page):
        if text := page[end : block.start()].strip():
            cells.append(new_markdown_cell(text))
        cells.append(new_code_cell(_magic(block[1], block[2]) + block[2].rstrip()))
        end = block.end()
    cells.append(new_markdown_cell(page[end:].strip()))
    for number, cell in enumerate(cells):
        cell.id = f"cell-{number}"  # else a random one, and no two notebooks would be equal
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    made: NotebookNode = new_notebook(cells=cells, metadata={"kernelspec": kernel})
    return made


def _magic(language: str, code: str) -> str:
    if language == "sh":
        return "%%bash -eo pipefail\n"
    (name,) = re.findall(r"\A# (\S+)\n", code)
    return f"%%writefile {name}\n"


def executed(source: NotebookNode, folder: Path, change: Callable[[str], str] = str) -> NotebookNode:
    """Run all cells in a folder, and return the notebook with their output.

    Parameters
    ----------
    source : NotebookNode
    folder : Path
    change : callable
        Takes the code of a cell and returns what is run in its place.

    Raises
    ------
    nbclient.exceptions.CellExecutionError
        If a cell fails; the message has its output.
    """
    run: NotebookNode = nbformat.from_dict(source)
    for cell in run.cells:
        if cell.cell_type == "code":
            cell.source = change(cell.source)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "OPENBLAS_NUM_THREADS": "1"}
    where = {"metadata": {"path": str(folder)}}
    client = NotebookClient(run, timeout=None, record_timing=False, coalesce_streams=True, resources=where)
    client.execute(env=environment)
    return run


def main() -> None:
    """Run the tutorial and write the notebook."""
    with tempfile.TemporaryDirectory() as folder:
        run = executed(notebook((DOCS / "tutorial.md").read_text("utf-8")), Path(folder))
    # The page calls the folder so.
    (DOCS / "tutorial.ipynb").write_text(nbformat.writes(run).replace(folder, "~/tones") + "\n", "utf-8")


if __name__ == "__main__":
    main()
