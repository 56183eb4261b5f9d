"""The pages of measures and of statistics."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from types import FunctionType
from typing import Any

import numpy as np

import embassay.measures
import embassay.stats
from embassay.measures import MEASURES, Weighting
from embassay.registry import RegistryEntry
from reference_pages.markdown import MADE, options, plain, prose

FUNCTIONS: Mapping[str, str] = {
    "nDCG": "ndcg", "AP": "average_precision", "RR": "reciprocal_rank", "R": "recall", "P": "precision",
    "RA-nWG": "ra_nwg", "RA-nWG-novelty": "ra_nwg_novelty", "N-Recall4+": "n_recall", "N-Recall5": "n_recall",
    "N-Recall": "n_recall", "Precision4+": "graded_precision", "Harm": "harm", "Hit": "hit",
    "Judged": "judged_share", "UDCG": "udcg", "PROC": "proc", "RBP": "rbp", "alpha-nDCG": "alpha_ndcg", "NRBP": "nrbp",
    "Facet-Recall": "facet_recall", "Facet-alpha-nDCG": "facet_alpha_ndcg", "Redundancy": "redundancy",
    "Complementarity": "complementarity",
    "V-measure": "v_measure", "ARI": "ari", "AMI": "ami", "Pearson": "pearson", "Spearman": "spearman",
    "PairAP": "pair_average_precision", "Accuracy": "binary_classification",
    "Precision": "binary_classification", "Recall": "binary_classification", "F1": "binary_classification",
}  # fmt: skip
"""Measure -> the function that computes it, whose docstring defines it."""
RANGE = re.compile(
    r"\bRange\s+(?:up\s+to|-?[\d.]+\s+to)\s+-?[\d.]*\d(?:,\s+(?:higher|lower)\s+is\s+better)?(?:,\s+never\s+NaN)?[;,.]?\s*(\S?)"
)
GAP = re.compile(r"(?:;\s+)?\bNaN\s+(?:where|for)\s[^.;`,]*[;.]\s*(\S?)")
SHAPES = re.compile(r"Shapes \(n,\) give a float; \(\.\.\., n\) give an array \(\.\.\.\)\.\s*")
"""What the table says already, and `help`: the range, and where a measure is undefined."""
SPELLED: Mapping[str, str] = {"N-Recall": "N-Recall(rel=3)@3", "RBP": "RBP", "NRBP": "NRBP"}
DATA: Mapping[str, tuple[str, str]] = {
    "judgements": ("judgements", '{"d1": 2, "d2": 1, "d3": 0}'),
    "grades": ("grades", '{"d1": 5, "d2": 4, "d3": 4, "d4": 3, "d5": 2, "d6": 1}'),
    "ranking": ("ranking", '["d2", "d7", "d1", "d6"]'),
    "pool": ("pool", '["d6", "d2", "d4"]'),
    "sources": ("sources", '{"d1": "a", "d2": "a", "d3": "b", "d4": "b", "d5": "c", "d6": "c", "d7": "d"}'),
    "facets": ("facets", '{"d1": ["price", "place"], "d2": ["price"], "d6": ["date"]}'),
    "labels": ("labels", '["law", "law", "law", "space", "space"]'),
    "clusters": ("clusters", "[0, 0, 1, 1, 1]"),
    "numbers": ("numbers", "[0.9, 0.4, 0.7, 0.1]"),
    "others": ("others", "[4.5, 3.0, 2.5, 1.0]"),
    "labels of 0 and 1": ("binary", "[1, 0, 0, 1]"),
    "predicted": ("predicted", "[1, 1, 0, 0]"),
    "actual": ("actual", "[1, 0, 0, 1]"),
}
"""What a measure needs -> the variable that stands for it in the examples, and its value."""
SEVERAL: Mapping[str, tuple[str, ...]] = {
    "grades, ranking, pool": ("grades", "ranking", "pool"),
    "numbers, numbers": ("numbers", "others"),
}
HEAD = """# Measures, one by one

{made}

[Measures and statistics](../measures.md) explains ties, unjudged documents, queries without an answer, grades and
pools. An undefined value is NaN; averages leave it out and count it. `help(FUNCTION)` shows shapes, errors and an
example.

{rows}

The examples use these values:

```python
from embassay.measures import MEASURES

{data}
```
"""
REST = """## Other functions

These functions of `embassay.measures` compute agreement, overlap and edit distance, or are helpers.
"""
RANDOM = ("n_resamples", "confidence", "seed", "rng")
"""Parameters of many statistics, told once."""
STATISTICS = """# Statistics, one by one

{made}

All are in `embassay.stats`. [Measures and statistics](../measures.md#statistics) shows when to use which function.
`help(FUNCTION)` shows shapes, ties, errors, an example, and the common `n_resamples`, `confidence`, `seed` and `rng`.
"""


def measures_page() -> str:
    """Every registered measure, then every other public function of the package."""
    data = "\n".join(f"{name} = {value}" for name, value in DATA.values())
    head = HEAD.format(made=MADE, rows=_rows(), data=data)
    sections = [_section(one) for one in MEASURES if not one.package]
    others = _functions(embassay.measures, leave_out=set(FUNCTIONS.values()))
    return "\n".join([head, *sections, REST, *others, ""])


def _rows() -> str:
    """A row for the measures that take the same things and have the same range and gaps."""
    rows = ["| Measures | Input | Range | Better | Undefined if |", "|---|---|---|---|---|"]
    found = [(one.name, dict(one.facts)) for one in MEASURES if not one.package]
    order = list(dict.fromkeys(facts["needs"] for _, facts in found))
    alike: dict[tuple[str, ...], list[str]] = {}
    for name, facts in sorted(found, key=lambda each: order.index(each[1]["needs"])):
        low, high = ast.literal_eval(facts["range"])
        cells = (facts["needs"], f"{low:g} to {high:g}", facts["direction"], facts["undefined"])
        alike.setdefault(cells, []).append(f"[`{name}`](#{_anchor(name)})")
    rows += [f"| {', '.join(names)} | {' | '.join(map(plain, cells))} |" for cells, names in alike.items()]
    return "\n".join(rows)


def statistics_page() -> str:
    """Every public function of `embassay.stats`."""
    return "\n".join([STATISTICS.format(made=MADE), *_functions(embassay.stats), ""])


def example(name: str) -> tuple[str, str]:
    """A call of the measure on the page's data, and what it gives."""
    facts = dict(MEASURES.get(name).facts)
    spelled = SPELLED.get(name) or (f"{name}@3" if _has_cutoff(name) else name)
    given = _arguments(facts["needs"])
    value = float(MEASURES.build(spelled)(*(ast.literal_eval(text) for _, text in given)))
    shown = "NaN" if np.isnan(value) else f"{value:.4f}".rstrip("0").rstrip(".")
    call = ", ".join(one for one, _ in given)
    return f'MEASURES.build("{spelled}")({call})', shown


def _arguments(needs: str) -> list[tuple[str, str]]:
    found = [DATA[one] for one in SEVERAL.get(needs, tuple(needs.split(", ")))]
    # A measure of sources takes a pool, here none, before them.
    return [*found[:2], ("None", "None"), *found[2:]] if "sources" in needs else found


def _has_cutoff(name: str) -> bool:
    return "cutoff" in inspect.signature(MEASURES.get(name).load()).parameters


def _section(one: RegistryEntry[Any]) -> str:
    """What it is: its docstring, or its own words where that stood above; an example, its parameters."""
    function = getattr(embassay.measures, FUNCTIONS[one.name])
    call, value = example(one.name)
    path = f"`embassay.measures.{function.__name__}`"
    first = next(each.name for each in MEASURES if FUNCTIONS.get(each.name) == function.__name__)
    told = "" if first != one.name else _untold(prose(function.__doc__ or ""))
    about = told or plain(one.summary)
    source = "" if "Source" in about or told == "" else f" Source: {plain(dict(one.facts)['source'])}."
    said = f"{path}: {told}{source}" if told else f"{about} See [{first}](#{_anchor(first)})."
    lines = [f"## {one.name} {{ #{_anchor(one.name)} }}", "", said, ""]
    lines += [f"`{call}` gives **{value}**. {_parameters(one)}".rstrip(), ""]
    return "\n".join(lines)


def _parameters(one: RegistryEntry[Any]) -> str:
    """Its parameters; those of RA-nWG's weights only there."""
    said = options(one.load(), ["cutoff"])
    if one.name == "RA-nWG" or "`cap4=" not in said:
        return said
    told = options(one.load(), ["cutoff", *(field.name for field in fields(Weighting))])
    return f"{told.removesuffix('.')}, and the weight parameters of [RA-nWG](#ra-nwg)."


def _untold(text: str) -> str:
    """A docstring without what the table says."""
    text = SHAPES.sub("", RANGE.sub(lambda found: found[1].upper(), text))
    return GAP.sub(lambda found: (". " if found[0].startswith(";") else "") + found[1].upper(), text).strip()


def _functions(package: Any, leave_out: set[str] = frozenset()) -> Iterator[str]:  # type: ignore[assignment]
    for name in package.__all__:
        found: Callable[..., Any] = getattr(package, name)
        if isinstance(found, FunctionType) and name not in leave_out:
            taken = [one for one in inspect.signature(found).parameters if one not in RANDOM]
            yield f"- `{name}({', '.join(taken)})`: {_first(found.__doc__ or '')}"


def _first(text: str) -> str:
    """A docstring's first paragraph on one line."""
    return " ".join(prose(text).partition("\n\n")[0].split())


def _anchor(name: str) -> str:
    return name.lower().replace("+", "-or-more")
