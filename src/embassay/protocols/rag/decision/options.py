"""What a decision is asked with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from embassay.errors import UsageError
from embassay.protocols.kernel.request import STATISTICS, SYSTEMS, label_price, like, option
from embassay.protocols.rag.scoring.options import ScoreRequest


@dataclass(frozen=True)
class DecisionRequest:
    """`labels` is the file of grades so far, which need not exist; `guide` one of a judge's grades that steers what is
    asked. `corpus` and `queries` are tables of texts. `price` is what a label costs, in US dollars."""

    labels: str = like(ScoreRequest, "qrels", name="--qrels")
    runs: tuple[str, ...] = like(ScoreRequest, "runs")
    measure: str = "Precision4+@10"
    bar: float | None = option(None, "With --until-decided: the value that each run has to reach.")
    alpha: float = option(0.05, "Share of studies that --until-decided may decide wrongly.", group=STATISTICS)
    block: int = option(20, "Passages that --until-decided asks for at a time.", name="--next", least=1)
    seed: int = like(ScoreRequest, "seed")
    grades: str | None = like(ScoreRequest, "grades")
    guide: str | None = like(ScoreRequest, "judge_grades", name="--judge-grades")
    corpus: str | None = like(ScoreRequest, "corpus", default=None)
    queries: str | None = like(ScoreRequest, "queries", default=None)
    judge: str | None = option(
        None, "With --until-decided: a chat model that grades what is asked, into --qrels.",
        name="--judge -j", value="NAME", group=SYSTEMS,
    )  # fmt: skip
    price: float | None = label_price()
    mapping: Mapping[str, str] = like(ScoreRequest, "mapping")

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
