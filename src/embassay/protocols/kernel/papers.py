"""The papers whose methods runs use, as sentences and as BibTeX."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

PROTOCOLS = {
    "sage": "sage", "pteb": "pteb", "original": "pteb", "judge": "pteb", "paraphrasers": "pteb", "validation": "pteb",
    "golden": "rag", "score": "rag", "sweep": "rag", "names": "rag", "noise": "rag", "hume": "hume",
}  # fmt: skip
"""The paper behind each kind of run."""


@dataclass(frozen=True)
class Paper:
    """A paper as a sentence and as BibTeX, with the fields that are known."""

    title: str
    said: str
    bibtex: str


@dataclass(frozen=True)
class Citation:
    """A paper; `used` where a run of this report rests on it."""

    paper: Paper
    used: bool


PAPERS = {
    "sage": Paper(
        "SAGE",
        "Goel, Lee and Ramchandran, “SAGE: A Realistic Benchmark for Semantic Understanding”, NeurIPS 2025 workshop.",
        "@inproceedings{goel2025sage,\n"
        "title = {{SAGE}: A Realistic Benchmark for Semantic Understanding},\n"
        "author = {Goel and Lee and Ramchandran},\n"
        "booktitle = {NeurIPS 2025 Workshop},\nyear = {2025}\n}",
    ),
    "pteb": Paper(
        "PTEB",
        "Frank and Afli, “PTEB: Towards Robust Text Embedding Evaluation via Stochastic Paraphrasing at Evaluation "
        "Time with LLMs”, EACL 2026.",
        "@inproceedings{frank2026pteb,\n"
        "title = {{PTEB}: Towards Robust Text Embedding Evaluation via Stochastic Paraphrasing at Evaluation Time "
        "with {LLMs}},\nauthor = {Frank and Afli},\nbooktitle = {EACL},\nyear = {2026}\n}",
    ),
    "rag": Paper(
        "RAG",
        "Dallaire, “Practical RAG Evaluation”, arXiv 2511.09545, 2025.",
        "@misc{dallaire2025practical,\n"
        "title = {Practical {RAG} Evaluation},\n"
        "author = {Dallaire},\nyear = {2025},\neprint = {2511.09545},\narchivePrefix = {arXiv}\n}",
    ),
    "hume": Paper(
        "HUME",
        "El Assadi, Chung, Solomatin, Muennighoff and Enevoldsen, “HUME: Measuring the Human-Model Performance Gap in "
        "Text Embedding Tasks”.",
        "@misc{elassadi_hume,\n"
        "title = {{HUME}: Measuring the Human-Model Performance Gap in Text Embedding Tasks},\n"
        "author = {El Assadi and Chung and Solomatin and Muennighoff and Enevoldsen}\n}",
    ),
}


def citations(kinds: Collection[str]) -> tuple[Citation, ...]:
    """All four, those that the kinds of run rest on first."""
    used = {PROTOCOLS[kind] for kind in kinds if kind in PROTOCOLS}
    found = [Citation(paper, name in used) for name, paper in PAPERS.items()]
    return tuple(sorted(found, key=lambda one: not one.used))


def bibtex(protocols: Iterable[str]) -> str:
    """The entries of the papers behind runs of these protocols, for a `.bib` file; empty where none has a paper."""
    names = dict.fromkeys(name for name in protocols if name in PAPERS)
    return "\n\n".join(PAPERS[name].bibtex for name in names) + "\n" * bool(names)
