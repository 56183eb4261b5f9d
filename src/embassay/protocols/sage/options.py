"""What a SAGE run can be told, and was asked to do; every default is the one spec/sage decides."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Literal

from embassay.errors import UsageError
from embassay.protocols.kernel.request import MOST_RESAMPLES, STATISTICS, TaskRequest, check_option_values, option

ALL = "all"
OF_DOCUMENTS = ("robustness", "sensitivity")
"""The tasks that edit whole documents many times over."""


@dataclass(frozen=True)
class SageOptions:
    """Options of the five tasks. `[An]` is the ambiguity of the paper each one settles (docs/sage.md)."""

    preference_ties: Literal["second", "half"] = option(
        "second", "Count a tied comparison for summary 2, or as half a point.", point="A9"
    )
    positive: Literal["second", "first"] = option(
        "second", "Which summary is the positive class for precision and recall.", point="A10"
    )
    robustness_edits: Literal["all", "mean"] = option(
        "all", "Compare all edits of a kind by their worst case or their mean.", point="A14"
    )
    numerize_both_cases: bool = option(False, "Let numerize also change capital letters.")
    delete_next_if_space: bool = option(
        False, "If the tenth character is a space, let delete10 remove the next non-space character.", point="A11"
    )
    edits: Literal["paper", "2024"] = option(
        "paper", "Edit as described in the paper, or as in the first author's earlier code.", point="A16"
    )
    needle: str = option("", "A text file to take inserted text from.", point="A16")
    text_tokens: int | None = option(
        None, "Truncate documents of the sensitivity task to this many tokens.", point="A16"
    )
    curve: Literal["hyperbolic", "linear"] = option(
        "hyperbolic", "Expected similarity at edit size p: 1/(1+p), or 1-p.", point="A15"
    )
    string_cap: int = option(
        2_000, "Maximum texts for a classical metric to cluster; larger sets are sampled by label."
    )
    embedding_cap: int = option(10_000, "Maximum texts for an embedding model to cluster.")
    retrieval_headline: Literal["augmented", "replaced"] = option(
        "augmented", "Which corpus the retrieval headline uses.", point="A19"
    )
    ties: Literal["original", "worst"] = option(
        "original", "At equal scores, rank the original or the edited copy first.", point="A18"
    )
    dataset_mean: Literal["arithmetic", "harmonic"] = option(
        "arithmetic", "How retrieval scores are averaged over datasets.", point="A20"
    )
    gain: Literal["linear", "exponential"] = option("linear", "Gain of nDCG.", point="A21")
    exclude_self: bool = option(False, "Leave a query's own document and its copies out of retrieval.")
    resamples: int = option(2_000, "Bootstrap resamples per interval.", most=MOST_RESAMPLES, group=STATISTICS)
    retrieval_edits: str = option(
        ALL, "Edits of the retrieval corpora: capitalize,typos. The paper's score needs its 18 edits."
    )
    further_edits: str = option(
        "",
        "Robustness edits in addition to the paper's: synonyms,typos,ocr,speech,facts. They do not count "
        "towards the score.",
    )
    document_cap: int | None = option(None, "Maximum documents for robustness and sensitivity.")
    guard_edits: str = option(
        "capitalize,delete10,numerize,typos", "Edits that the guards are tested against: typos,ocr."
    )
    guard_side: Literal["queries", "documents"] = option("queries", "Side to damage.")
    guard_keep: float = option(0.95, "Share of the clean nDCG@10 that a guard must keep.", least=0, most=1)
    guard_clean: str = option("unicode,whitespace,spelling,case", "Steps of the cleaning guard.")
    guard_hybrid: str = option("bm25", "Second system of the hybrid guard.")
    guard_rerank: str = option("overlap", "Reranker of the reranking guard.")
    attack_budget: int = option(5, "Maximum words that an attack can change.", least=1)
    attack_beam: int = option(1, "Drafts that an attack keeps at each number of changes.", least=1)

    def __post_init__(self) -> None:
        check_option_values(self)
        if self.edits == "2024" and self.delete_next_if_space:
            raise UsageError(
                "delete10 has its own rule for spaces with --edits 2024.",
                mend="Leave out --delete-next-if-space or --edits 2024.",
            )
        object.__setattr__(self, "further_edits", ",".join(parse_edit_names(self.further_edits)))
        if self.retrieval_edits != ALL:
            object.__setattr__(self, "retrieval_edits", _normalize_edit_names(self.retrieval_edits))

    def as_dict(self) -> dict[str, Any]:
        """Every option with its value, as saved in a manifest and in the keys of cells; what leaves documents or edits
        out only where it does. Of a needle its text counts, not where it lies."""
        every = asdict(self)
        whole = (
            ("retrieval_edits", ALL),
            ("further_edits", ""),
            ("document_cap", None),
            ("exclude_self", False),
            *((name, default) for name, default in _BEYOND.items()),
        )
        if self.needle:
            from embassay.text import text_digest

            every["needle"] = f"{Path(self.needle).name} {text_digest(read_needle(self.needle))}"
        return {name: value for name, value in every.items() if (name, value) not in whole}

    def item_limit(self, task: str, limit: int | None) -> int | None:
        """The most items of a task that are drawn; None for all.

        >>> SageOptions(document_cap=12).item_limit("sensitivity", None), SageOptions().item_limit("sensitivity", 20)
        (12, 20)
        """
        caps = [cap for cap in (limit, self.document_cap if task in OF_DOCUMENTS else None) if cap is not None]
        return min(caps, default=None)


_BEYOND = {field.name: field.default for field in fields(SageOptions) if field.name.startswith(("guard_", "attack_"))}
"""Options of tasks beyond the paper's, by default left out of manifests and keys."""


def parse_edit_names(names: str) -> tuple[str, ...]:
    """Parse the edits of a list, each once, in one order; UsageError for a name that is none.

    >>> parse_edit_names("facts, synonyms")
    ('synonyms', 'facts')
    """
    from embassay.text import FURTHER

    asked = [name.strip() for name in names.split(",") if name.strip()]
    for name in asked:
        if name not in FURTHER:
            raise UsageError(f"There is no further edit called {name!r}.", mend=f"Available: {', '.join(FURTHER)}.")
    return tuple(name for name in FURTHER if name in asked)


def read_needle(path: str) -> str:
    """Read the text of `--needle`; empty without one: ours then."""
    if not path:
        return ""
    from embassay.text import read_needle

    return read_needle(path)


def _normalize_edit_names(names: str) -> str:
    """Normalise a choice of edits to the one way it is written."""
    from embassay.protocols.sage.tasks import RETRIEVAL_EDITS, parse_edit_list

    chosen = parse_edit_list(names)
    return ALL if chosen == RETRIEVAL_EDITS else ",".join(chosen)


VERSION = 8
"""Raised when the same request would give other numbers; part of every cell's key."""


@dataclass(frozen=True)
class Request(TaskRequest):
    """The arguments of a SAGE run."""

    options: SageOptions = field(default_factory=SageOptions)
