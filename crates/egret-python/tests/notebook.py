"""Runs a notebook."""

from pathlib import Path

import nbformat
from nbclient import NotebookClient

NOTEBOOKS = Path(__file__).parent.parent / "notebooks"


def run(name: str, shown: str, folder: Path) -> None:
    """Runs the notebook of this name in a folder, and where it ends, what it is to show."""
    notebook = nbformat.read(NOTEBOOKS / f"{name}.ipynb", as_version=4)
    nbformat.validate(notebook)
    assert not any(cell.get("outputs") for cell in notebook.cells), "notebooks are kept without outputs"
    notebook.cells.append(nbformat.v4.new_code_cell(shown))
    NotebookClient(notebook, timeout=120, resources={"metadata": {"path": str(folder)}}).execute()
