"""What a cell works with, opened once per process: data, caches, systems whose calls are charged, prompts."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from functools import cache, lru_cache, partial
from importlib.resources import files
from pathlib import Path
from string import ascii_uppercase
from typing import Any, Unpack

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import CellPartExecutor, Encoder, Role, Similarity, Tokenizer
from embassay.data import Dataset, open_dataset
from embassay.errors import UsageError
from embassay.machine import find_cache_folder
from embassay.protocols.kernel.request import DatasetRequest
from embassay.randomness import make_seeded_generator
from embassay.records import HeadlineComponent, TaskOutcome
from embassay.runs.embeddings import CachedEncoder, CachedRaggedEncoder, EmbeddingCache, RememberedEncoder
from embassay.runs.execution import HERE
from embassay.runs.folder import digest_json
from embassay.runs.forecast import Hear
from embassay.runs.spending import CallSpendingTotals, RunSpendingJournal
from embassay.stats import resample_means
from embassay.stats.resampling import sum_rows_by_group
from embassay.systems import open_system
from embassay.systems.cosine import Cosine
from embassay.systems.own import (
    COSINE,
    NAMES,
    NamedVectorSimilarity,
    TextComparisonOptions,
    find_model_own_similarity,
    find_systems_forced_to_cosine,
)
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer


def write_frames_and_list_dataset_sources(datasets: Any, folder: Path) -> tuple[str, ...]:
    """Names and paths of datasets as a caller gives them: strings and paths as they are; of frames (polars, pandas) and
    lists of dictionaries the JSON Lines file in `folder` that they are written to: `data-1.jsonl` and so on, or by the
    names of a mapping. A file that holds the same is left as it is.

    UsageError for anything else, and for a frame without rows.
    """
    if isinstance(datasets, str | Path) or hasattr(datasets, "to_dict") or hasattr(datasets, "to_dicts"):
        datasets = [datasets]  # one dataset, as it is
    named = datasets.items() if isinstance(datasets, Mapping) else [("", source) for source in datasets]
    return tuple(
        str(source)
        if isinstance(source, str | Path)
        else str(_write_frame_rows_as_jsonl(source, folder / f"{name or f'data-{place}'}.jsonl"))
        for place, (name, source) in enumerate(named, 1)
    )


def _write_frame_rows_as_jsonl(frame: Any, path: Path) -> Path:
    text = "".join(
        json.dumps(_convert_row_to_json_values(row), ensure_ascii=False) + "\n"
        for row in _iterate_rows_of_any_frame(frame)
    )
    if not text:
        raise UsageError(f"The dataset {path.stem} has no rows.", mend="Give a frame or list with one row per item.")
    if not path.exists() or path.read_text("utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return path


def _iterate_rows_of_any_frame(frame: Any) -> Iterable[Mapping[str, Any]]:
    """The rows of a polars or pandas frame, a lazy one, a table of pyarrow, a relation of DuckDB or whatever else gives
    Arrow, a dataset of `datasets`, or a list."""
    if hasattr(frame, "collect_schema") and hasattr(frame, "collect"):
        frame = frame.collect()
    for method in ("to_dicts", "to_pylist"):
        if hasattr(frame, method):
            return getattr(frame, method)()  # type: ignore[no-any-return]
    if hasattr(frame, "__arrow_c_stream__"):
        import polars as pl

        return pl.DataFrame(frame).to_dicts()
    if hasattr(frame, "to_list") and hasattr(frame, "column_names"):
        return frame.to_list()  # type: ignore[no-any-return]
    if hasattr(frame, "to_dict") and hasattr(frame, "columns"):
        return frame.to_dict("records")  # type: ignore[no-any-return]
    if isinstance(frame, list | tuple) and all(isinstance(row, Mapping) for row in frame):
        return frame
    texts = isinstance(frame, list | tuple) and all(isinstance(row, str) for row in frame)
    raise UsageError(
        f"A {type(frame).__name__}{' of texts' if texts else ''} is not a dataset.",
        mend="Pass [{'text': text} for text in texts]."
        if texts
        else "Give a catalogue name, a path, a polars or pandas frame, or a list of dictionaries.",
    )


def _convert_row_to_json_values(row: Mapping[str, Any]) -> dict[str, Any]:
    """A row as JSON has it: numbers of numpy as Python's, what is missing as null."""
    return {str(key): _convert_value_to_json(value) for key, value in row.items()}


def _convert_value_to_json(value: Any) -> Any:
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, list | tuple):
        return [_convert_value_to_json(part) for part in value]
    if value is None or isinstance(value, str | int | float | bool):
        return value
    return str(value)


@lru_cache(maxsize=8)
def open_request_dataset(request: DatasetRequest) -> Dataset:
    """The dataset, opened once per process."""
    return open_dataset(request.source, mapping=dict(request.mapping), split=request.split, grades=request.grades)


def open_embedding_cache(path: Path | None) -> EmbeddingCache:
    """The embedding cache at `path`, by default in the folder that `$EMBASSAY_CACHE` names now; opened once."""
    return _open_embedding_cache(path or find_cache_folder() / EmbeddingCache.file)


@lru_cache(maxsize=1)
def _open_embedding_cache(file: Path) -> EmbeddingCache:
    return EmbeddingCache.open(file)


def open_uncached_system(
    text: str, tokenizer: Tokenizer, seed: int, ledger: Ledger | None = None, **how: Unpack[TextComparisonOptions]
) -> Similarity:
    """The system that a spec string names, without a cache: for its name, kind and identity."""
    return open_system(text, tokenizer=tokenizer, seed=seed, ledger=ledger, **how)


def open_bare_encoder(spec: str, tokenizer: str, seed: int) -> Encoder:
    """The encoder that a spec string names, before any transform of its vectors."""
    encoders: list[Encoder] = []

    def collect_encoder(encoder: Encoder) -> Encoder:
        encoders.append(encoder)
        return encoder

    open_system(spec, tokenizer=open_tokenizer(tokenizer), seed=seed, wrap=collect_encoder)
    return encoders[0]


class SystemWithCachedVectors:
    """A system whose encoder, where it has one, keeps its vectors in the cache and tells what it does."""

    def __init__(
        self,
        spec: str,
        *,
        tokenizer: Tokenizer,
        seed: int,
        cache: Path | None,
        advance: Callable[[int], None],
        ledger: Ledger | None = None,
        spread: CellPartExecutor = HERE,
        **how: Unpack[TextComparisonOptions],
    ) -> None:
        self.spread = spread
        self.encoders: list[CachedEncoder] = []
        self.memories: list[RememberedEncoder] = []
        journal = find_spending_journal(ledger)
        kept = journal.journal_encoded_text_count if journal is not None else None

        make = partial(open_bare_encoder, spec, tokenizer.name, seed)

        def wrap_encoder_in_cache(encoder: Encoder) -> Encoder:
            vectors, many = spread.cache(partial(open_embedding_cache, cache)), hasattr(encoder, "width")
            # An ensemble has several, each called by a spec string of its own.
            several = spec.startswith("ensemble:")
            again = partial(open_bare_encoder, encoder.name, tokenizer.name, seed) if several else make
            elsewhere = encoder if many else spread.encoder(encoder, again)
            behind = CachedRaggedEncoder if many else CachedEncoder
            self.encoders.append(behind(elsewhere, vectors, progress=advance, kept=kept))
            self.memories.append(RememberedEncoder(self.encoders[-1]))
            return self.encoders[-1] if many else self.memories[-1]

        self.system = open_system(
            spec, tokenizer=tokenizer, wrap=wrap_encoder_in_cache, seed=seed, ledger=ledger,
            elsewhere=partial(spread.open_encoder_remotely, make), **how
        )  # fmt: skip

    def prefetch_vectors(self, rehearse: Callable[[Hear], object]) -> None:
        """Ask a server for the vectors of all calls that `rehearse` tells of at once: one call alone seldom keeps it
        busy."""
        for encoder, memory in zip(self.encoders, self.memories, strict=True):
            # A pool of actors takes many chunks too, but each call keeps it busy.
            if hasattr(encoder.encoder, "encode_chunks") and hasattr(encoder.encoder, "price"):
                encoder.prefetch_embeddings(
                    call for call in _rehearsed_calls(rehearse) if not memory.has_remembered_texts(*call)
                )

    def encode_rehearsed_calls_into_memory(self, *rehearsals: Callable[[Hear], object]) -> None:
        """Keep the vectors of all calls that these tell of, and of no others, in memory: what asks for a part of them
        encodes nothing."""
        for memory in self.memories:
            memory.forget()
            for rehearse in rehearsals:
                memory.encode_and_remember_calls(_rehearsed_calls(rehearse))

    def make_own_similarity_unless_cosine(self) -> NamedVectorSimilarity | None:
        """The same vectors, compared as the model says that its own are; None where that is by cosine."""
        if not isinstance(self.system, Cosine) or isinstance(self.system, NamedVectorSimilarity):
            return None
        by = find_model_own_similarity(self.system.encoder)
        return None if by == COSINE else NamedVectorSimilarity(self.system.encoder, by, name=self.system.name)

    def describe_cosine_effect(
        self, outcome: TaskOutcome, headline: str, evaluate: Callable[[Similarity], TaskOutcome] | None
    ) -> tuple[str, ...]:
        """What the cosine changes for a model that was made for another similarity: the headline by its own beside that
        of the `outcome`. `evaluate` does the task once more, None where that needs the cosine's scale. Of vectors of
        length 1, whose order is the same, nothing is said."""
        own = self.make_own_similarity_unless_cosine()
        said = self.describe_models_forced_to_cosine()
        if own is None or evaluate is None or not said:
            return said
        values = (_find_headline_score(scored, headline) for scored in (outcome, evaluate(own)))
        here, there = ("undefined" if value is None else f"{value:.4f}" for value in values)
        return (f"{said[0]}: {headline} is {here}, but {there} with its own similarity",)

    def describe_models_forced_to_cosine(self) -> tuple[str, ...]:
        """A sentence for each model that was made for another similarity than the cosine, by which it is compared, the
        members of an ensemble too. Of vectors of length 1, whose order is the same, nothing is said."""
        units = {encoder.name for encoder in self.encoders if encoder.conduct.are_units}
        are_all_units = units == {encoder.name for encoder in self.encoders}
        return tuple(
            f"{name} was trained for {NAMES[by]}, but all systems are compared by cosine here"
            for name, by in find_systems_forced_to_cosine(self.system).items()
            if by == "manhattan" or not (name in units or are_all_units)
        )

    def add_usage_and_warnings(
        self, outcome: TaskOutcome, calls: Mapping[str, int], *, compares: bool = False
    ) -> TaskOutcome:
        """The outcome with what was encoded for it, the calls that were charged, and what the vectors say against their
        encoder; where it `compares` vectors, also that a model was made to be compared in another way."""
        odd = [warning for encoder in self.encoders for warning in encoder.conduct.warnings(encoder.encoder)]
        odd += self.describe_cosine_effect(outcome, "", None) if compares else ()
        nothing = self.encoders[0].conduct.explain_why_vectors_give_no_score if len(self.encoders) == 1 else ""
        return replace(
            _remove_outcome_values(outcome, nothing) if nothing else outcome,
            counts={**outcome.counts, **self.counts(), **calls},
            warnings=tuple(dict.fromkeys((*outcome.warnings, *odd))),
        )

    def counts(self) -> dict[str, int]:
        """Counts of texts encoded, taken from the cache, cut and failed; empty without an encoder."""
        if not self.encoders:
            return {}
        return {
            "texts_encoded": sum(encoder.counts.encoded for encoder in self.encoders),
            "texts_cached": sum(encoder.counts.cached for encoder in self.encoders),
            "texts_truncated": sum(encoder.counts.truncated for encoder in self.encoders),
            "texts_failed": sum(len(encoder.failures) for encoder in self.encoders),
        }


@dataclass(frozen=True)
class EvaluationJob:
    """What the work on every cell needs, in whatever process: a system, and how it reads and keeps texts."""

    system: str
    seed: int
    tokenizer: str
    cache: Path | None

    def open_cached_system(
        self,
        advance: Callable[[int], None],
        *,
        ledger: Ledger | None = None,
        spread: CellPartExecutor = HERE,
        **how: Unpack[TextComparisonOptions],
    ) -> SystemWithCachedVectors:
        """The system, opened for this cell."""
        return SystemWithCachedVectors(
            self.system, tokenizer=open_tokenizer(self.tokenizer), seed=self.seed, cache=self.cache,
            advance=advance, ledger=ledger, spread=spread, **how
        )  # fmt: skip


def _remove_outcome_values(outcome: TaskOutcome, reason: str) -> TaskOutcome:
    """The outcome of a system that tells no texts apart: what ties happen to give is no score of it."""
    return replace(
        outcome,
        scores=tuple(replace(row, value=None, ci_low=None, ci_high=None, reason=reason) for row in outcome.scores),
        components={
            name: HeadlineComponent(None, component.n, reason=reason) for name, component in outcome.components.items()
        },
        items={},
        rankings={},
    )


def _find_headline_score(outcome: TaskOutcome, name: str) -> float | None:
    return next((row.value for row in outcome.scores if row.measure == name and not row.variant), None)


def _rehearsed_calls(rehearse: Callable[[Hear], object]) -> list[tuple[Sequence[str], Role | None]]:
    asked: list[tuple[Sequence[str], Role | None]] = []
    rehearse(lambda texts, role: asked.append((texts, role)))
    return asked


@contextmanager
def charge_calls_to_account(ledger: Ledger | None, account: str) -> Iterator[dict[str, int]]:
    """Charge calls to the account; the mapping holds at the end what they came to."""
    calls: dict[str, int] = {}
    journal = find_spending_journal(ledger)
    if journal is None:
        yield calls
        return
    before = journal.sum_spending_by_account().get(account, CallSpendingTotals())
    outer, journal.account = journal.account, account
    try:
        yield calls
    finally:
        journal.account = outer
    came_to = journal.sum_spending_by_account().get(account, CallSpendingTotals()).subtract_earlier_amounts(before)
    calls |= {
        "requests": came_to.requests,
        "retries": came_to.retries,
        "calls_failed": came_to.failed,
        "input_tokens": came_to.input_tokens,
    }


def find_spending_journal(ledger: Ledger | None) -> RunSpendingJournal | None:
    """The journal of a run's ledger; None for a ledger that keeps none."""
    journal: Any = ledger.journal if ledger else None
    return journal if isinstance(journal, RunSpendingJournal) else None


Columns = NDArray[np.float64]


@dataclass(frozen=True)
class EvaluationContext(ABC):
    """The seed and the run's tokenizer; `dataset` names the random streams. Protocols add their
    options."""

    dataset: str
    tokenizer: Tokenizer
    seed: int = 1337
    groups: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    """Item -> name of the group that it is drawn with; empty where every item is drawn by itself."""
    spread: CellPartExecutor = field(default=HERE, kw_only=True, compare=False)
    """Where the parts of the work are done."""
    advance: Callable[[int], None] = field(default=lambda _: None, kw_only=True, compare=False)
    """Hears of every shard of a corpus that is done, with its texts; for systems whose encoder does not tell itself."""

    @property
    @abstractmethod
    def resamples(self) -> int:
        """Bootstrap resamples behind every interval."""

    def stream(self, purpose: str) -> np.random.Generator:
        """The random stream of the bootstrap: of the seed, the dataset and the purpose but not of the system, so
        that the same rows are drawn for every system and their differences are paired."""
        return make_seeded_generator(self.seed, "bootstrap", self.dataset, purpose)

    def number_item_groups(self, ids: Sequence[str]) -> NDArray[np.int64] | None:
        """The group of each item, 0 .. g - 1, (n,); None where every item is drawn by itself."""
        places: dict[str, int] = {}
        labels = [places.setdefault(self.groups.get(key, key), len(places)) for key in ids]
        return None if len(places) == len(labels) else np.array(labels, dtype=np.int64)

    def bootstrap(self, columns: Columns, purpose: str, groups: NDArray[np.int64] | None = None) -> Columns:
        """Bootstrap means of the columns (n, m) over their rows, or over `groups` of them (n,): (resamples, m).

        Rows of NaN (lost items) are drawn too, and left out of the means.
        """
        rng, n, lost = self.stream(purpose), self.resamples, mask_rows_with_nan(columns)
        if groups is None and not lost.any():
            return resample_means(columns, n_resamples=n, rng=rng)
        # A last column counts who is there: dividing by its mean leaves the lost rows out.
        filled = np.column_stack([np.where(lost[:, None], 0.0, columns), ~lost])
        if groups is not None:
            filled = sum_rows_by_group(filled, groups)
        means = resample_means(filled, n_resamples=n, rng=rng)
        with np.errstate(invalid="ignore"):
            return means[:, :-1] / means[:, -1:]


def mask_rows_with_nan(columns: Columns) -> NDArray[np.bool_]:
    """Which rows of (n, m) hold a NaN, (n,)."""
    return np.asarray(np.isnan(columns).any(axis=1))


@cache
def read_packaged_prompt(package: str, name: str) -> str:
    """The words of a prompt that a package of ours brings along."""
    return files(package).joinpath("prompt_texts", f"{name}.txt").read_text("utf-8").strip()


@dataclass(frozen=True)
class Prompt:
    """The instructions of one kind of call, sent as the system message."""

    kind: str
    version: str
    text: str

    @property
    def identity(self) -> str:
        """Its kind, its version and a digest of every word.

        >>> Prompt("grade", "1", "Grade it.").identity
        'grade@1:c1eb52586be0'
        """
        return f"{self.kind}@{self.version}:{digest_json(self.text)[:12]}"

    def as_dict(self) -> dict[str, str]:
        """As saved in a manifest."""
        return {**asdict(self), "identity": self.identity}


def fence_text_with_mark(name: str, mark: str, text: str) -> str:
    """A text between two lines that say what it is, with a mark that it cannot hold."""
    return f"[{name} {mark}]\n{text}\n[end of {name} {mark}]"


def compute_fence_mark(texts: Sequence[str]) -> str:
    """Eight digits that no text can hold on purpose, since they follow from all of them: a passage cannot pretend to
    end and speak on in our name. Equal texts have equal marks, so that equal calls are paid once."""
    joined = "\x1f".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=4).hexdigest()


def make_letter_labels(n: int) -> list[str]:
    """A label for each of n texts: letters, and two of them from the 27th on.

    >>> make_letter_labels(3), make_letter_labels(28)[-2:]
    (['A', 'B', 'C'], ['AA', 'AB'])
    """
    return [ascii_uppercase[i] if i < 26 else ascii_uppercase[i // 26 - 1] + ascii_uppercase[i % 26] for i in range(n)]
