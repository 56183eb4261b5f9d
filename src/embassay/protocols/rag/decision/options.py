"""What a decision is asked with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from embassay.errors import UsageError
from embassay.protocols.rag.decision.course import ALPHA, BLOCK

MEASURE = "Precision4+@10"


@dataclass(frozen=True)
class DecisionRequest:
    """`labels` is the file of grades so far, which need not exist; `guide` one of a judge's grades that steers what is
    asked. `corpus` and `queries` are tables of texts. `price` is what a label costs, in US dollars."""

    labels: str
    runs: tuple[str, ...]
    measure: str = MEASURE
    bar: float | None = None
    alpha: float = ALPHA
    block: int = BLOCK
    seed: int = 0
    grades: str | None = None
    guide: str | None = None
    corpus: str | None = None
    queries: str | None = None
    judge: str | None = None
    price: float | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:
            raise UsageError(
                f"--alpha is {self.alpha:g}.", mend="Give a share above 0 and below 0.5, such as 0.05."
            )
        if self.block < 1:
            raise UsageError(f"--next is {self.block}.", mend="Ask for 1 passage or more at a time.")
        if (self.corpus is None) != (self.queries is None):
            raise UsageError(
                "Texts are shown where both are known.",
                mend="Give --corpus and --queries, or neither of them.",
            )
        if self.judge is not None and self.corpus is None:
            raise UsageError("A judge has to read what it grades.", mend="Add --corpus FILE --queries FILE.")
