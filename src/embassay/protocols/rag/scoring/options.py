"""What scorings, calibrations of runs and decisions are asked with: judgements, runs, and what is measured of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Literal, get_args

from embassay.errors import UsageError
from embassay.protocols.calibration.options import CalibrationOptions
from embassay.protocols.kernel.request import (
    DATA,
    MOST_RESAMPLES,
    STATISTICS,
    SYSTEMS,
    RunRequest,
    declare_label_price_option,
    option,
    redeclare_option,
)
from embassay.protocols.live import RetrieverOption

if TYPE_CHECKING:
    from embassay.stats.silence import SilenceAims

Unjudged = Literal["zero", "grade1", "condense", "error"]
Test = Literal["bootstrap", "randomization"]
TARGETS = {"query_id", "doc_id", "score", "relevance", "correct", "documents", "facet"}


@dataclass(frozen=True)
class ScoreRequest:
    """Judgements, runs and what is measured of them.

    `runs` and `pools` are paths, a run also `name=path`. `pools` are none (each run's own list is its pool), one for
    all or one per run. `measures` in any spelling, without a cutoff measured at each of `cutoffs`; none stands for the
    usual ones. `grades` is a grade map (None: the judgements are grades from 1 to 5), `mapping` target column -> the
    files' own.
    """

    qrels: str = option(MISSING, "Graded judgements: TREC, BEIR, JSONL, CSV or Parquet.", value="FILE", group=DATA)
    runs: tuple[str, ...] = option(
        (), "A run as FILE or NAME=FILE: TREC, JSONL, CSV or Parquet.", name="--run", value="FILE", group=DATA
    )
    pools: tuple[str, ...] = option(
        (),
        "Passages that PROC may reorder: one file for all runs, one per run, or the `union` of all runs. Default: "
        "the run itself.",
        name="--pool", value="FILE", group=DATA
    )  # fmt: skip
    measures: tuple[str, ...] = option(
        (), "A measure from `embassay list measures`. Default: the usual ones.", name="--measure -m"
    )
    cutoffs: tuple[int, ...] = option(
        (10, 30), "Cutoff for measures without one. Default: 10 and 30.", name="-k", least=1
    )
    grades: str | None = option(
        None, "Grade map: identity, binary, trec3, cranfield, or value=grade,... Default: grades 1 to 5.",
        group=DATA
    )  # fmt: skip
    unjudged: Unjudged = option("zero", "Treat an ungraded document as worth 0, as grade 1, as absent, or as an error.")
    answers: str | None = option(
        None, "File with `query_id, correct` (0 to 1), to relate answers to evidence found (Acc|Hit@K).",
        value="FILE", group=DATA
    )  # fmt: skip
    sensitivity: bool = option(
        False, "Show RA-nWG for 24 settings of its constants.", name="--sensitivity", group=STATISTICS
    )
    test: Test = option("bootstrap", "Paired test of two runs, over queries.", group=STATISTICS)
    resamples: int = option(
        10_000, "Resamples for intervals and tests.", least=1, most=MOST_RESAMPLES, group=STATISTICS
    )
    seed: int = redeclare_option(RunRequest, "seed", default=0)
    """That of the source's comparisons (spec rag 1.9)."""
    split: str | None = redeclare_option(RunRequest, "split")
    mapping: Mapping[str, str] = redeclare_option(RunRequest, "mapping")
    separator: str = option(
        "#", "Character that ends the source part of an id, for novelty measures.", name="--source-separator"
    )
    """Documents of one source have ids that are equal before the last one of these: chunks are called
    `document#number`."""
    exclude_self: bool = option(
        False, "Leave a query's own document out of runs, pools and judgements.", name="--exclude-self"
    )
    """Whether the document that has the query's id is left out of judgements, runs and pools."""
    corpus: str = option(
        "", "The corpus (a folder or a table), needed if runs contain texts or judgements are spans.", group=DATA
    )
    """The passages that were retrieved from, where runs say their texts, or judgements are of spans of documents."""
    queries: str = option(
        "", "The questions, needed if runs contain their texts, or for --by-tag.", value="FILE", group=DATA
    )
    """The questions, where runs say their texts."""
    tags: bool = option(
        False, "Also score by the `tags` of --queries, such as language or kind of question.", name="--by-tag"
    )
    """Whether scores are also given by the tags of the questions in `queries`."""
    judge_grades: str | None = option(
        None, "A judge's grades for all passages, corrected by the few human grades in --qrels.",
        value="FILE", group=DATA
    )  # fmt: skip
    """A file of a judge's grades of all passages, which those of people in `qrels` correct."""
    retrievers: tuple[str, ...] = redeclare_option(RetrieverOption, "retrievers")
    """Retrievers that are asked the questions of `queries`; their answers are scored as runs."""
    facets: str | None = option(
        None, "Facets or nuggets of documents: `query_id, doc_id, facet`, or TREC diversity judgements.",
        value="FILE", group=DATA
    )  # fmt: skip
    """A file of the facets that documents have, for what lists cover, repeat and add up to."""
    depth: int | None = option(
        None,
        "Documents to request from a --retriever. Default: the largest cutoff.",
        name="--depth",
        least=1,
        group=DATA,
    )

    def __post_init__(self) -> None:
        if not self.runs and not self.retrievers:
            raise UsageError("There is no run to score.", mend="Add --run FILE or --retriever SPEC.")
        if self.retrievers and not self.queries:
            raise UsageError(
                "A retriever needs questions, but there are none.", mend="Give their file with --queries FILE."
            )
        lists = len(self.runs) + len(self.retrievers)
        if len(self.pools) not in (0, 1, lists):
            raise UsageError(
                f"There are {len(self.pools)} pools for {lists} runs.",
                mend="Give one --pool for all runs, or one per run, in the same order.",
            )
        for name, value, choices in (
            ("unjudged", self.unjudged, get_args(Unjudged)),
            ("test", self.test, get_args(Test)),
        ):
            if value not in choices:
                raise UsageError(f"--{name} is {value!r}.", mend=f"Choose {', '.join(choices)}.")
        if unknown := sorted(set(self.mapping) - TARGETS):
            raise UsageError(f"--map cannot set the column {unknown[0]!r}.", mend=f"Use {', '.join(sorted(TARGETS))}.")
        if not self.separator:
            raise UsageError("--source-separator is empty.", mend="Use a character, such as '#'.")
        if self.tags and not self.queries:
            raise UsageError("--by-tag needs questions with tags.", mend="Give their file with --queries.")
        if self.resamples < 1 or min(self.cutoffs, default=0) < 1:
            raise UsageError(
                f"resamples is {self.resamples}, and cutoffs is {list(self.cutoffs)}.", mend="Both must be 1 or more."
            )
        self._check_facet_options()

    def _check_facet_options(self) -> None:
        if self.facets is not None and self.judge_grades is not None:
            raise UsageError(
                "--judge-grades corrects grades, so it cannot be used with facets.",
                mend="Score the facets separately, without --judge-grades.",
            )

    def as_dict(self) -> dict[str, Any]:
        """The arguments as the manifest has them."""
        added = ("corpus", "queries", "tags", "judge_grades", "retrievers", "depth", "facets")
        later = {name: getattr(self, name) for name in added}
        return {name: value for name, value in asdict(self).items() if name not in later or later[name]}


@dataclass(frozen=True)
class RetrievalScoreCalibrationRequest:
    """`files` are runs and judgements, `cutoff` is how many passages an answer is made from."""

    files: ScoreRequest
    cutoff: int = 10
    options: CalibrationOptions = field(default_factory=CalibrationOptions)
    no_answer: str | None = None
    """A file of questions without an answer, for which the runs have lists as well."""
    reranked: str | None = None
    """A run with a reranker's scores of the same questions."""
    silent: float = 0.9
    answered: float = 0.5

    def __post_init__(self) -> None:
        if self.cutoff < 1:
            raise UsageError(f"-k is {self.cutoff}.", mend="Use 1 or more passages per answer.")
        if self.reranked is not None and self.no_answer is None:
            raise UsageError("--reranked needs questions without an answer.", mend="Add --no-answer FILE.")
        if self.reranked is not None and len(self.files.runs) + len(self.files.retrievers) > 1:
            raise UsageError("--reranked works with only one run.", mend="Give one --run.")
        _ = self.make_silence_threshold_aims

    @property
    def make_silence_threshold_aims(self) -> SilenceAims:
        """The aims that a threshold of silence must keep; UsageError for a share that is none."""
        from embassay.stats.silence import SilenceAims  # a command's help needs none of it

        return SilenceAims(self.silent, self.answered, self.options.confidence)

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared when they are given again."""
        plain = self.files.as_dict()
        kept = {name: plain[name] for name in ("qrels", "runs", "grades", "seed", "split", "mapping")}
        kept |= {name: plain[name] for name in ("retrievers", "queries", "depth") if name in plain}
        plain = {**kept, "cutoff": self.cutoff, "options": self.options.as_dict()}
        if self.no_answer is None:
            return plain
        names = ("no_answer", "reranked", "silent", "answered")
        return {**plain, **{name: getattr(self, name) for name in names}}


@dataclass(frozen=True)
class SequentialLabellingRequest:
    """`labels` is the file of grades so far, which need not exist; `guide` one of a judge's grades that steers what is
    asked. `corpus` and `queries` are tables of texts. `price` is what a label costs, in US dollars."""

    labels: str = redeclare_option(ScoreRequest, "qrels", name="--qrels")
    runs: tuple[str, ...] = redeclare_option(ScoreRequest, "runs", default=MISSING)
    measure: str = "Precision4+@10"
    bar: float | None = option(None, "With --until-decided: the value each run must reach.")
    alpha: float = option(0.05, "Share of wrong decisions that --until-decided allows.", group=STATISTICS)
    block: int = option(20, "Passages that --until-decided requests at a time.", name="--next", least=1)
    seed: int = redeclare_option(ScoreRequest, "seed")
    grades: str | None = redeclare_option(ScoreRequest, "grades")
    guide: str | None = redeclare_option(ScoreRequest, "judge_grades", name="--judge-grades")
    corpus: str | None = redeclare_option(ScoreRequest, "corpus", default=None)
    queries: str | None = redeclare_option(ScoreRequest, "queries", default=None)
    judge: str | None = option(
        None, "With --until-decided: a chat model that writes the grades into --qrels.",
        name="--judge -j", value="NAME", group=SYSTEMS
    )  # fmt: skip
    price: float | None = declare_label_price_option()
    mapping: Mapping[str, str] = redeclare_option(ScoreRequest, "mapping")

    def __post_init__(self) -> None:
        if not 0 < self.alpha < 0.5:
            raise UsageError(f"--alpha is {self.alpha:g}.", mend="Give a share above 0 and below 0.5, such as 0.05.")
        if self.block < 1:
            raise UsageError(f"--next is {self.block}.", mend="Request 1 or more passages at a time.")
        if (self.corpus is None) != (self.queries is None):
            raise UsageError("Showing the texts needs both --corpus and --queries.", mend="Give both or neither.")
        if self.judge is not None and self.corpus is None:
            raise UsageError("The judge needs the texts that it grades.", mend="Add --corpus FILE --queries FILE.")
