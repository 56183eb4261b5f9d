"""The notebook of the documentation: its cells carried out in order, and what each shows stored in it.

    python tests/docs/notebook.py --write

Nothing but what a cell prints and its last expression is stored; figures and frames as a notebook shows them.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "first_hour.ipynb"
FORMS = {"image/svg+xml": "_repr_svg_", "text/html": "_repr_html_", "text/plain": "__repr__"}


def carried_out(cells: list[dict[str, Any]], folder: Path) -> list[list[dict[str, Any]]]:
    """The outputs of every cell of code, run one after the other in `folder`; nothing for other cells."""
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.chdir(folder):
        return [_shown("".join(one["source"]), names) if one["cell_type"] == "code" else [] for one in cells]


def _shown(source: str, names: dict[str, Any]) -> list[dict[str, Any]]:
    tree = ast.parse(source)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(tree, "<cell>", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "<cell>", "eval"), names) if last else None
    outputs: list[dict[str, Any]] = []
    if text := said.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": text.splitlines(keepends=True)})
    if value is not None:
        form = next(form for form, method in FORMS.items() if hasattr(value, method))
        shown = getattr(value, FORMS[form])()
        data = {form: shown.splitlines(keepends=True), "text/plain": [f"<{type(value).__name__}>"]}
        outputs.append({"data": data if form != "text/plain" else {form: shown.splitlines(keepends=True)},
                        "metadata": {}, "output_type": "display_data"})  # fmt: skip
    return outputs


def written(page: Path = PAGE) -> str:
    """The notebook with what its cells show now."""
    notebook = json.loads(page.read_text("utf-8"))
    with tempfile.TemporaryDirectory() as folder:
        for cell, outputs in zip(notebook["cells"], carried_out(notebook["cells"], Path(folder)), strict=True):
            if cell["cell_type"] == "code":
                cell["outputs"] = outputs
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


if __name__ == "__main__":
    os.environ.setdefault("COLUMNS", "80")
    text = written()
    if "--write" in sys.argv:
        PAGE.write_text(text, "utf-8")
    else:
        print(text)
