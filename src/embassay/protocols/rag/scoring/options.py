"""What a scoring is asked for, and which documents are of one source, for measures that discount what it says twice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from embassay.errors import UsageError
from embassay.measures.grades import Sources

if TYPE_CHECKING:
    import polars as pl

Ints = NDArray[np.int64]
SEPARATOR = "#"
"""Chunks are called `document#number`."""


@dataclass(frozen=True)
class SourceCodes:
    """The source of each document by its code, and the graded pool sorted by query: query, grade, source."""

    of: Ints
    query: Ints
    grade: NDArray[np.int8]
    code: Ints

    def on(self, documents: Ints) -> Sources:
        """Sources of ranked `documents` (q, w), codes of which those below 0 are no document."""
        return Sources(np.where(documents < 0, -1, self.of[documents]), self.query, self.grade, self.code)


def source_codes(codes: Sequence[Ints], texts: Sequence[pl.Series], separator: str) -> Ints:
    """The source of every document code: what stands before the last `separator` in its id, the whole id without one.

    `codes` and `texts` are the columns of all files, each code with its id.
    """
    import polars as pl

    known = pl.concat([
        pl.DataFrame({"code": code, "text": text.cast(pl.String)}).unique("code")
        for code, text in zip(codes, texts, strict=True)
    ]).unique("code")  # fmt: skip
    sources = known["text"].str.replace(f"^(.*){_escaped(separator)}.*$", "$1")
    found = np.zeros(int(known["code"].max()) + 1, np.int64)  # type: ignore[arg-type]
    found[known["code"].to_numpy()] = sources.cast(pl.Categorical).to_physical().to_numpy().astype(np.int64)
    return found


def graded_sources(of: Ints, query: Ints, grade: NDArray[np.int8], doc: Ints) -> SourceCodes:
    """The judgements (columns of one length) with their sources, sorted by query."""
    order = np.argsort(query, kind="stable")
    return SourceCodes(of, query[order], grade[order], of[doc[order]])


def _escaped(text: str) -> str:
    """For a regular expression of the library that reads the ids."""
    return "".join(f"\\x{{{ord(character):x}}}" for character in text)


Unjudged = Literal["zero", "grade1", "condense", "error"]
Test = Literal["bootstrap", "randomization"]

CUTOFFS = (10, 30)
RESAMPLES = 10_000
TARGETS = {"query_id", "doc_id", "score", "relevance", "correct"}
SEED = 0
"""That of the source's comparisons (spec rag 1.9)."""


@dataclass(frozen=True)
class ScoreRequest:
    """Judgements, runs and what is measured of them.

    `runs` and `pools` are paths, a run also `name=path`. `pools` are none (each run's own list is its pool), one for
    all or one per run. `measures` in any spelling, without a cutoff measured at each of `cutoffs`; none stands for the
    usual ones. `grades` is a grade map (None: the judgements are grades from 1 to 5), `mapping` target column -> the
    files' own.
    """

    qrels: str
    runs: tuple[str, ...]
    pools: tuple[str, ...] = ()
    measures: tuple[str, ...] = ()
    cutoffs: tuple[int, ...] = CUTOFFS
    grades: str | None = None
    unjudged: Unjudged = "zero"
    answers: str | None = None
    sensitivity: bool = False
    test: Test = "bootstrap"
    resamples: int = RESAMPLES
    seed: int = SEED
    split: str | None = None
    mapping: Mapping[str, str] = field(default_factory=dict)
    separator: str = SEPARATOR
    """Documents of one source have ids that are equal before the last one of these."""
    exclude_self: bool = False
    """Whether the document that has the query's id is left out of judgements, runs and pools."""

    def __post_init__(self) -> None:
        if not self.runs:
            raise UsageError("There is no run to score.", mend="Name one with --run FILE.")
        if len(self.pools) not in (0, 1, len(self.runs)):
            raise UsageError(
                f"There are {len(self.pools)} pools for {len(self.runs)} runs.",
                mend="Give one --pool for all runs, or one per run in their order.",
            )
        for name, value, choices in (
            ("unjudged", self.unjudged, get_args(Unjudged)),
            ("test", self.test, get_args(Test)),
        ):
            if value not in choices:
                raise UsageError(f"--{name} is {value!r}.", mend=f"Choose {', '.join(choices)}.")
        if unknown := sorted(set(self.mapping) - TARGETS):
            raise UsageError(
                f"Nothing here is called {unknown[0]!r} (in --map).",
                mend=f"Map {', '.join(sorted(TARGETS))}.",
            )
        if not self.separator:
            raise UsageError("The separator of sources is empty.", mend="Give --source-separator '#'.")
        if self.resamples < 1 or min(self.cutoffs, default=0) < 1:
            raise UsageError(
                f"The resamples are {self.resamples} and the cutoffs {list(self.cutoffs)}.",
                mend="Both must be 1 or more.",
            )

    def as_dict(self) -> dict[str, Any]:
        """The arguments as the manifest has them."""
        return asdict(self)


def named_path(given: str) -> tuple[str, Path]:
    """The name and the file of a run given as `path` or `name=path`; by itself it is called as its file.

    >>> named_path("runs/bm25.trec.gz"), named_path("mine=runs/x.txt")
    (('bm25', PosixPath('runs/bm25.trec.gz')), ('mine', PosixPath('runs/x.txt')))
    """
    name, equals, rest = given.partition("=")
    if equals and name and rest and not Path(given).exists():
        return name, Path(rest).expanduser()
    path = Path(given).expanduser()
    return stem(path.name), path


def stem(name: str) -> str:
    """A file name without the endings that say its format.

    >>> stem("bm25.k1=0.9.trec"), stem("qrels.tsv.gz"), stem(".trec")
    ('bm25.k1=0.9', 'qrels', '.trec')
    """
    left = name
    for _ in range(2):
        head, dot, end = left.rpartition(".")
        if head and dot and end.lower() in _ENDINGS:
            left = head
    return left


_ENDINGS = {
    "gz",
    "trec",
    "run",
    "runs",
    "qrels",
    "qrel",
    "res",
    "txt",
    "tsv",
    "csv",
    "jsonl",
    "ndjson",
    "parquet",
}
