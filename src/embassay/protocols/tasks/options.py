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
        "each", "Average the languages' scores, or score all languages as one problem.", point="A9"
    )
    classification_texts: Literal["both", "test"] = option(
        "both", "Paraphrase training and test texts, or test texts alone."
    )
    summaries: Literal["pooled", "per-text"] = option(
        "pooled", "Correlate over all summaries, or average one correlation per text.", point="A10"
    )
    own_document: Literal["before", "after"] = option(
        "before", "Drop a query's own document before or after taking the ten best.", point="A8"
    )
    exclude_own: bool = option(
        False, "Leave a query's own document out of retrieval, as is always done for ArguAna."
    )
    normalize_punctuation: bool = option(
        False, "Remove spaces before closing punctuation on both sides.", point="A19"
    )
    most_lost: float = option(
        MOST_LOST, "Largest share of a task's texts without a usable paraphrase; beyond it there is no score."
    )
    neighbours: int = option(10, "Nearest neighbours that classify where a system has no vectors.")
    clustering_cap: int = option(
        10_000, "Most texts that a system without vectors clusters; larger sets are sampled by label."
    )
    resamples: int = option(1_000, "Bootstrap resamples behind every interval.")

    def __post_init__(self) -> None:
        check_options(self)
        if not 0 <= self.most_lost < 1:
            raise UsageError(f"most_lost is {self.most_lost}.", mend="Use a share from 0 to below 1.")

    def as_dict(self) -> dict[str, Any]:
        """Every option with its value, as saved in a manifest."""
        return asdict(self)
