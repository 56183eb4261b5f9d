"""What the shared tasks can be told; every default is the one spec/pteb decides."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from embassay.errors import UsageError
from embassay.protocols.kernel.estimates import MOST_LOST
from embassay.protocols.kernel.request import check_options, option


@dataclass(frozen=True)
class PtebOptions:
    """Options of the seven tasks. `[An]` is the ambiguity of the paper each one settles (docs/pteb.md)."""

    languages: Literal["each", "pooled"] = option(
        "each", "Score every language by itself and take the mean, or all of them as one problem [A9]."
    )
    classification_texts: Literal["both", "test"] = option(
        "both", "Paraphrase the training and the test texts, or the test texts alone."
    )
    summaries: Literal["pooled", "per-text"] = option(
        "pooled", "One correlation over all summaries, or the mean of one per text [A10]."
    )
    own_document: Literal["before", "after"] = option(
        "before", "Leave a query's own document out before the ten best are taken, or after [A8]."
    )
    exclude_own: bool = option(
        False, "Retrieval: leave out the document whose id is the query's. Always so for ArguAna."
    )
    normalize_punctuation: bool = option(
        False, "Take blanks before closing punctuation out of both sides [A19]."
    )
    most_lost: float = option(
        MOST_LOST, "Share of a task's texts that may lack a usable paraphrase; with more there is no score."
    )
    neighbours: int = option(10, "Nearest neighbours that classify for a system without vectors.")
    clustering_cap: int = option(
        10_000, "Largest clustering set for a system without vectors; larger ones are drawn by label."
    )
    resamples: int = option(1_000, "Bootstrap resamples behind every interval.")

    def __post_init__(self) -> None:
        check_options(self)
        if not 0 <= self.most_lost < 1:
            raise UsageError(f"most_lost is {self.most_lost}.", mend="Use a share from 0 to below 1.")

    def as_dict(self) -> dict[str, Any]:
        """Every option with its value, as saved in a manifest."""
        return asdict(self)
