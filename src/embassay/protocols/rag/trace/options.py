"""What a trace is asked with: the lists of a pipeline, or the parts to make it of, and what is needed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.kernel.request import (
    DATA,
    STATISTICS,
    SYSTEMS,
    RunRequest,
    convert_tuples_to_lists,
    option,
    redeclare_option,
)


@dataclass(frozen=True)
class PipelineTraceRequest:
    """The request of a trace: lists after each stage as files, or a `dataset` with an `encoder`."""

    searches: tuple[str, ...] = option(
        (), "Results of a search as NAME=FILE, in any run format of rag score. Repeat it for each search, such as "
            "BM25 and vectors.",
        name="--search", value="FILE", group=DATA
    )  # fmt: skip
    stages: tuple[str, ...] = option(
        (), "Results after a later stage (fusion, filter, cut, reranker) as NAME=FILE, in pipeline order.",
        name="--stage", value="FILE", group=DATA
    )  # fmt: skip
    qrels: str = option("", "Graded judgements: TREC, BEIR, JSONL, CSV or Parquet.", value="FILE", group=DATA)
    grades: str | None = option(
        None,
        "Grade map of --qrels: binary, trec3, cranfield, or value=grade,...; grades 4 and 5 count as needed.",
        group=DATA,
    )
    queries: str = option("", "The questions with their `tags`, to report losses by tag.", value="FILE", group=DATA)
    mapping: Mapping[str, str] = redeclare_option(RunRequest, "mapping")
    dataset: str = option(
        "", "A dataset, instead of files; the lists are made with -s.", name="--dataset -d", value="DATASET", group=DATA
    )
    encoder: str = option("", "With -d: the system for vector search.", name="--system -s", group=SYSTEMS)
    reranker: str = option("", "With -d: the reranker.", value="RERANKER", group=SYSTEMS)
    depth: int = option(100, "With -d: passages retrieved by each search.", least=1, most=10_000)
    k: int = option(50, "With -d: passages passed to the reranker.", name="-k", least=1, most=10_000)
    passages: int = option(5, "Passages in the prompt.", name="--passages", least=1, most=10_000)
    limit: int | None = option(None, "With -d: number of questions, drawn at random.", least=1, group=DATA)
    resamples: int = option(2_000, "Resamples for intervals.", least=1, most=100_000, group=STATISTICS)
    seed: int = option(1337, "Random seed.", group=STATISTICS)

    def __post_init__(self) -> None:
        if self.dataset:
            if self.searches or self.stages or self.qrels:
                raise UsageError(
                    "A dataset and files cannot be combined.", mend="Give -d with -s, or --search, --stage and --qrels."
                )
            if not self.encoder:
                raise UsageError("No system was given to search the dataset.", mend="Add -s SYSTEM, such as -s minilm.")
            return
        if not self.searches or not self.qrels:
            raise UsageError(
                "There is no pipeline to trace.",
                mend="Give --qrels FILE, --search NAME=FILE and --stage NAME=FILE; or -d DATASET -s SYSTEM.",
            )
        if len(self.searches) > 1 and not self.stages:
            raise UsageError("Several searches need a fused list.", mend="Add it with --stage fused=FILE.")

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        return convert_tuples_to_lists({**asdict(self), "mapping": dict(self.mapping)})
