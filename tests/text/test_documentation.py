"""docs/perturbations.md says what the code does. Its examples are run by tests/docs."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from embassay.text import PERTURBATIONS, TOKENIZERS
from embassay.text.perturbations import _OPENING, _VOCABULARY
from embassay.text.semantics import build_negation_rules


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    return (root / "docs" / "perturbations.md").read_text(encoding="utf-8")


def test_the_negation_table_is_that_of_the_code(root: Path) -> None:
    """Every rule is in the reference, and everything there is a rule."""
    reference = (root / "docs" / "reference" / "perturbations.md").read_text(encoding="utf-8")
    section = reference.partition("## negate\n")[2].partition("\n## ")[0]
    table: dict[str, str] = {}
    for word, cell in re.findall(r"(?:^|; )([a-z]+) \(([a-z', ]+)\)", section, re.MULTILINE):
        negated = cell.split(", ")
        table |= {word: negated[0], **dict.fromkeys(negated, word)}
    assert table == build_negation_rules()


def test_every_name_is_in_the_page(page: str) -> None:
    """Perturbations with a heading of their own, how many auxiliaries are negated, and tokenizers."""
    for entry in PERTURBATIONS:
        assert f"### {entry.name}\n" in page
    auxiliaries = {found.split()[0] for found in build_negation_rules() if "'" not in found} - {"cannot"}
    assert f"likewise {len(auxiliaries) - 1} other auxiliaries" in page
    for tokenizer in TOKENIZERS:
        assert f"`{tokenizer.name}`" in page.partition("## Tokenizers")[2]


def test_figures_of_the_needle(page: str) -> None:
    """The size of the word list and of the opening."""
    assert re.search(rf"words\s+from a list of {len(_VOCABULARY)}\b", page)
    assert f"*Lorem ipsum* ({len(_OPENING.split())} words)" in page


@pytest.mark.slow
def test_importing_loads_no_tokenizer_library() -> None:
    """tiktoken, tokenizers and the network library wait until a tokenizer is opened."""
    script = "import sys, embassay.text; print(*{'tiktoken', 'tokenizers', 'requests'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""
