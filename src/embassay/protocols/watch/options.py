"""What a watch can be told: how a fingerprint is recorded, how a check is made, and what two systems are asked."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from embassay.errors import UsageError
from embassay.protocols.kernel.request import DATA, OUTPUT, SPEED, STATISTICS, SYSTEMS, option

FailOn = Literal["any", "changed", "lists"]


@dataclass(frozen=True)
class OwnTextsAndQuestionsOptions:
    """Options that name own texts and questions."""

    corpus: str | None = option(
        None,
        "Your documents: a folder, a table with a column text, or a dataset with questions and judgements.",
        value="DIR|TABLE", group=DATA
    )  # fmt: skip
    queries: str | None = option(None, "Your users' questions: a table with a column text.", value="FILE", group=DATA)
    qrels: str | None = option(None, "With --queries: graded judgements of passages.", value="FILE", group=DATA)
    questions: int = option(50, "Questions to send in every check, drawn at random.", least=1, most=10_000, group=DATA)
    samples: int = option(30, "Passages to send in every check, drawn at random.", least=1, most=10_000, group=DATA)
    passages: int = option(10_000, "Maximum passages to search for the lists, drawn at random.", least=10, group=DATA)
    seed: int = option(1337, "Random seed.", group=STATISTICS)

    def __post_init__(self) -> None:
        if self.queries is not None and self.corpus is None:
            raise UsageError("--queries needs a corpus to search.", mend="Add --corpus DIR or a table.")
        if self.qrels is not None and self.queries is None:
            raise UsageError("--qrels needs --queries.", mend="Add --queries FILE with the ids that it uses.")


@dataclass(frozen=True)
class FingerprintRequest:
    """What a fingerprint is made of: one of a system, a reranker and a judge."""

    system: str | None = option(None, "The system to record.", name="--system -s", value="SYSTEM", group=SYSTEMS)
    reranker: str | None = option(None, "A reranker to record instead: jina:MODEL.", value="RERANKER", group=SYSTEMS)
    judge: str | None = option(None, "A judge to record instead: ollama:gemma3:27b.", value="LLM", group=SYSTEMS)
    golden: str | None = option(
        None,
        "With --judge: a golden set that it graded, to see how a change affects its labels.", value="DIR", group=DATA
    )  # fmt: skip
    own: OwnTextsAndQuestionsOptions = OwnTextsAndQuestionsOptions()
    tokenizer: str = option("words", "The tokenizer of lexical systems.", value="TOKENIZER")
    repeats: int = option(
        5, "Number of repeats of all requests, to measure how answers vary.", least=1, most=50, group=STATISTICS
    )
    pause: float = option(
        0.0, "Seconds between repeats; a busy server varies more over minutes.", least=0, most=86_400,
        group=STATISTICS
    )  # fmt: skip

    def __post_init__(self) -> None:
        named = [name for name in (self.system, self.reranker, self.judge) if name]
        if len(named) != 1:
            raise UsageError(
                "Exactly one system, reranker or judge can be recorded.",
                mend="Give one of --system, --reranker and --judge.",
            )
        if self.golden is not None and self.judge is None:
            raise UsageError("--golden needs a judge.", mend="Name the judge that graded it with --judge.")
        if self.golden is not None and self.own.corpus is not None:
            raise UsageError(
                "--golden has its own questions and passages.", mend="Give --golden or --corpus, not both."
            )

    @property
    def name(self) -> str:
        """The spec string of what is recorded."""
        return self.system or self.reranker or self.judge or ""


@dataclass(frozen=True)
class FingerprintCheckRequest:
    """How a fingerprint is held against what the system answers now."""

    system: str | None = option(
        None, "The system to check. Default: the recorded one.", name="--system -s", value="SYSTEM", group=SYSTEMS
    )
    alpha: float = option(0.05, "Chance of a false alarm over all --looks.", value="SHARE", group=STATISTICS)
    looks: int = option(
        365,
        "Number of checks over which --alpha holds. The default is a year of nightly checks.",
        least=1,
        group=STATISTICS,
    )
    until_sure: bool = option(
        False, "Send a few texts first, and more only while undecided.", name="--until-sure",
        group=SPEED
    )  # fmt: skip
    lists: Literal["changed", "always", "never"] = option(
        "changed", "When to encode the passages of your lists again, to find out how the lists change."
    )
    calibrations: tuple[str, ...] = option(
        (), "A file from embassay calibrate, to check its thresholds.", name="--calibration", value="FILE",
        group=DATA
    )  # fmt: skip
    history: Path | None = option(
        None, "File in which checks are kept. Default: next to FILE, ending in .checks.jsonl.", group=OUTPUT
    )
    fail_on: FailOn = option(
        "any", "Exit code 1 for any difference, only for changes beyond noise, or only if your lists change.",
        group=OUTPUT
    )  # fmt: skip
    junit: Path | None = option(None, "Write the verdict as JUnit XML.", group=OUTPUT)
    markdown: Path | None = option(None, "Write the verdict as Markdown.", group=OUTPUT)

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 1:
            raise UsageError(f"--alpha is {self.alpha:g}.", mend="Use a number between 0 and 1, such as 0.05.")


@dataclass(frozen=True)
class SystemCompareRequest:
    """Two systems that should be one model."""

    systems: tuple[str, ...] = option((), "A system; give two.", name="--system -s", value="SYSTEM", group=SYSTEMS)
    own: OwnTextsAndQuestionsOptions = OwnTextsAndQuestionsOptions()
    tokenizer: str = option("words", "The tokenizer of lexical systems.", value="TOKENIZER")
    repeats: int = option(3, "Number of repeats of all requests.", least=1, most=50, group=STATISTICS)

    def __post_init__(self) -> None:
        if len(self.systems) != 2:
            raise UsageError(f"Two systems are needed, but there are {len(self.systems)}.", mend="Write -s A -s B.")
