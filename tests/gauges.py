"""Gauges of how the code reads: figures of names, statements and comments over a folder of Python.

`python tests/gauges.py` prints them for the package, and the statements that are puzzles, worst first.
"""

from __future__ import annotations

import ast
import bisect
import io
import statistics
import sys
import tokenize
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "embassay"
PARTICIPLES = {
    *("told", "said", "asked", "found", "kept", "listed", "scored", "agreed"),
    *("named", "placed", "given", "made", "laid", "judged", "drawn"),
}
"""Function names that say that something is done, not what."""
_LAYOUT = {tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_STATEMENTS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Return, ast.Expr)
_PUZZLE = 50
"""Tokens above which a statement with two loops or two choices is one that a reader has to take apart."""
_MANY_FOLDERS = 3
"""Of a class's name: from so many on it says nothing any more."""


@dataclass
class Gauges:
    """What is counted over the files of a folder."""

    functions: int = 0
    one_word: int = 0
    participles: int = 0
    intervals: int = 0
    doubles: int = 0
    comments: int = 0
    code_lines: int = 0
    tokens: int = 0
    sizes: list[int] = field(default_factory=list)
    puzzles: list[tuple[int, str]] = field(default_factory=list)
    folders_of_classes: dict[str, set[Path]] = field(default_factory=lambda: defaultdict(set))

    @property
    def figures(self) -> dict[str, float]:
        """Each gauge by its name; in all of them less is better."""
        statements = len(self.sizes)
        return {
            "functions named by one word, %": 100 * self.one_word / self.functions,
            "functions named by a participle": self.participles,
            "class names in three folders": sum(
                len(folders) >= _MANY_FOLDERS for folders in self.folders_of_classes.values()
            ),
            "classes with value, low and high": self.intervals,
            "tokens in the median statement": statistics.median(self.sizes),
            "statements with two loops inside, %": 100 * self.doubles / statements,
            "puzzles in 1,000 statements": 1000 * len(self.puzzles) / statements,
            "lines of code to a comment": self.code_lines / self.comments,
            "tokens, in thousands": self.tokens / 1000,
        }


def gauge(folder: Path) -> Gauges:
    """The gauges of all Python files under a folder."""
    gauges = Gauges()
    for path in sorted(folder.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        code = _count_tokens(gauges, source)
        tree = ast.parse(source)
        _count_names(gauges, tree, path.parent)
        _count_statements(gauges, tree, source.splitlines(), code, path)
    return gauges


def _count_tokens(gauges: Gauges, source: str) -> list[tuple[int, int]]:
    """Where the tokens of code begin, as (line, column)."""
    read = tokenize.generate_tokens(io.StringIO(source).readline)
    tokens = [token for token in read if token.type not in _LAYOUT]
    code = [token.start for token in tokens if token.type != tokenize.COMMENT]
    gauges.tokens += len(tokens)
    gauges.comments += len(tokens) - len(code)
    gauges.code_lines += len({line for line, _ in code})
    return code


def _count_names(gauges: Gauges, tree: ast.AST, folder: Path) -> None:
    for node in ast.walk(tree):
        if isinstance(node, ast.ClassDef):
            annotated = [part.target for part in node.body if isinstance(part, ast.AnnAssign)]
            names = {target.id for target in annotated if isinstance(target, ast.Name)}
            gauges.intervals += {"value", "low", "high"} <= names
            gauges.folders_of_classes[node.name.strip("_")].add(folder)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("__"):
            name = node.name.strip("_")
            gauges.functions += 1
            gauges.one_word += "_" not in name
            gauges.participles += name in PARTICIPLES


def _count_statements(
    gauges: Gauges, tree: ast.AST, lines: Sequence[str], code: Sequence[tuple[int, int]], path: Path
) -> None:
    for statement in _statements(tree):
        first = _place(lines, statement.lineno, statement.col_offset)
        last = _place(lines, statement.end_lineno or 0, statement.end_col_offset or 0)
        size = bisect.bisect_left(code, last) - bisect.bisect_left(code, first)
        nodes = list(ast.walk(statement))
        loops = [node for node in nodes if isinstance(node, _COMPREHENSIONS)]
        choices = sum(isinstance(node, ast.IfExp) for node in nodes)
        gauges.sizes.append(size)
        gauges.doubles += len(loops) >= 2 or any(len(loop.generators) >= 2 for loop in loops)
        if size > _PUZZLE and (len(loops) >= 2 or choices >= 2):
            gauges.puzzles.append((size, f"{path}:{statement.lineno}"))


def _statements(node: ast.AST, within: bool = False) -> Iterator[ast.stmt]:
    """What functions consist of, less their docstrings."""
    within = within or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            continue
        if within and isinstance(child, _STATEMENTS):
            if not (isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant)):
                yield child
        else:
            yield from _statements(child, within)


def _place(lines: Sequence[str], line: int, offset: int) -> tuple[int, int]:
    """Line and column in letters: the tree counts bytes."""
    text = lines[line - 1]
    return line, offset if text.isascii() else len(text.encode()[:offset].decode())


def main(folder: Path) -> None:
    """Print the figures, then the puzzles."""
    gauges = gauge(folder)
    for name, figure in gauges.figures.items():
        print(f"{figure:9.2f}  {name}")
    for size, where in sorted(gauges.puzzles, reverse=True):
        print(f"{size:9}  {where}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PACKAGE)
