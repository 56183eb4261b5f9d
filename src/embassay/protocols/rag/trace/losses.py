"""Needed passages on their way through a pipeline: their ranks, where they are lost, what each stage does to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from embassay.errors import UsageError
from embassay.randomness import make_seeded_generator
from embassay.stats import Estimate
from embassay.stats.calibration import compute_clopper_pearson
from embassay.stats.resampling import percentile_interval, resample_means

SEARCH, PROMPT = "search", "prompt"
"""The first stage, whatever searches there are, and the last one."""
Lists = Mapping[str, Sequence[str]]
"""Question id -> passage ids, best first."""


@dataclass(frozen=True)
class StageDocumentLists:
    """The lists of documents after a stage."""

    name: str
    lists: Lists


@dataclass(frozen=True)
class RetrievalPipeline:
    """`searches` side by side, then `stages` one after the other, whose last list the first `passages` of are the
    prompt."""

    searches: tuple[StageDocumentLists, ...]
    stages: tuple[StageDocumentLists, ...]
    passages: int

    def __post_init__(self) -> None:
        names = self.names
        if twice := next((name for name in names if names.count(name) > 1), None):
            raise UsageError(f"Two stages are called {twice}.", mend="Rename one: --stage NAME=FILE.")

    @property
    def serial_stages(self) -> tuple[StageDocumentLists, ...]:
        """The stages that a passage passes one after the other, behind the searches."""
        last = (self.stages or self.searches)[-1]
        prompt = {query: ids[: self.passages] for query, ids in last.lists.items()}
        return (*self.stages, StageDocumentLists(PROMPT, prompt))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all stages in their order, the prompt last."""
        return (*(search.name for search in self.searches), *(stage.name for stage in self.stages), PROMPT)


@dataclass(frozen=True)
class PassageTrace:
    """A needed passage of a question: its rank after each of the pipeline's stages (`names`), None where it is not in
    the list; `lost` is the stage that it did not get through, empty where it is in the prompt."""

    query: str
    passage: str
    ranks: tuple[int | None, ...]
    lost: str


@dataclass(frozen=True)
class StagePassageLoss:
    """The share of needed passages that are lost at a stage, of the questions with a tag ("" for all)."""

    stage: str
    tag: str
    lost: int
    share: Estimate


@dataclass(frozen=True)
class StagePassageEffect:
    """What a stage does to needed passages. `raised` were not among the first as many as the prompt takes and now are,
    `lowered` were and are not, `dropped_first` of these are not in the list any more. `is_powerless`: it gets no more
    passages than the prompt takes, and drops none, so it cannot change what is in the prompt."""

    stage: str
    raised: int
    lowered: int
    dropped_first: int
    is_powerless: bool


@dataclass(frozen=True)
class TracedPipelineLosses:
    """A whole trace. `found_by` counts needed passages by the searches that found them, "" for none."""

    names: tuple[str, ...]
    passages: int
    questions: int
    rows: tuple[PassageTrace, ...]
    losses: tuple[StagePassageLoss, ...]
    effects: tuple[StagePassageEffect, ...]
    found_by: Mapping[str, int]
    notes: tuple[str, ...] = ()

    @property
    def largest_loss(self) -> StagePassageLoss | None:
        """The stage that loses most, of all questions; None where nothing is lost."""
        whole = [loss for loss in self.losses if not loss.tag and loss.lost]
        return max(whole, key=lambda loss: loss.lost, default=None)

    @property
    def count_needed_passages_in_prompt(self) -> int:
        """Needed passages that are in the prompt."""
        return sum(not row.lost for row in self.rows)

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        return asdict(self)


Needed = Mapping[str, Sequence[str]]
"""Question id -> the passages that it needs."""


def trace_passage_losses(
    pipeline: RetrievalPipeline,
    needed: Needed,
    *,
    tags: Mapping[str, Sequence[str]] | None = None,
    resamples: int = 2_000,
    seed: int = 1337,
) -> TracedPipelineLosses:
    """Follow every needed passage, and count what is lost where; by the `tags` of questions too. UsageError where
    nothing is needed."""
    rows = trace_needed_passages(pipeline, needed)
    if not rows:
        raise UsageError(
            "No question has a needed passage (grade 4 or 5).", mend="Check the judgements, or set --grades."
        )
    stages = (SEARCH, *(stage.name for stage in pipeline.serial_stages))
    groups = {"": None, **_group_queries_by_tag(tags or {})}
    losses = [
        _estimate_passages_lost_in_stage(rows, stage, tag, members, resamples, seed)
        for tag, members in groups.items()
        for stage in stages
        if members is None or any(row.query in members for row in rows)
    ]
    effects = tuple(_measure_stage_effects(pipeline, needed))
    return TracedPipelineLosses(
        pipeline.names,
        pipeline.passages,
        len({row.query for row in rows}),
        rows,
        tuple(losses),
        effects,
        _count_passages_by_finding_searches(pipeline, rows),
        (
            *_list_notes_on_questions_without_list(pipeline, needed),
            *_list_notes_on_questions_over_prompt(pipeline, needed),
        ),
    )


def trace_needed_passages(pipeline: RetrievalPipeline, needed: Needed) -> tuple[PassageTrace, ...]:
    """Trace the ranks of every needed passage, and the stage behind the last one that has it."""
    stages = (*pipeline.searches, *pipeline.serial_stages)
    ranked = [{query: _map_ids_to_ranks(ids) for query, ids in stage.lists.items()} for stage in stages]
    rows = []
    for query, passages in needed.items():
        for passage in dict.fromkeys(passages):
            ranks = tuple(places.get(query, {}).get(passage) for places in ranked)
            rows.append(PassageTrace(query, passage, ranks, _find_stage_of_loss(pipeline, ranks)))
    return tuple(rows)


def _map_ids_to_ranks(ids: Sequence[str]) -> dict[str, int]:
    return {key: rank for rank, key in enumerate(dict.fromkeys(ids), start=1)}


def _find_stage_of_loss(pipeline: RetrievalPipeline, ranks: Sequence[int | None]) -> str:
    first = len(pipeline.searches)
    there = [any(rank is not None for rank in ranks[:first]), *(rank is not None for rank in ranks[first:])]
    if there[-1]:
        return ""
    names = [SEARCH, *(stage.name for stage in pipeline.serial_stages)]
    # A stage may add passages of its own, so the last stage that has it counts.
    last = max((place for place, has in enumerate(there) if has), default=-1)
    return names[last + 1]


def estimate_prompt_share(trace: TracedPipelineLosses, resamples: int = 2_000, seed: int = 1337) -> Estimate:
    """The share of needed passages that are in the prompt."""
    return _estimate_passages_lost_in_stage(trace.rows, "", "", None, resamples, seed).share


def _group_queries_by_tag(tags: Mapping[str, Sequence[str]]) -> dict[str, set[str] | None]:
    groups: dict[str, set[str] | None] = {}
    for query, names in tags.items():
        for name in names:
            members = groups.setdefault(name, set())
            assert members is not None
            members.add(query)
    return dict(sorted(groups.items()))


def _estimate_passages_lost_in_stage(
    rows: Sequence[PassageTrace], stage: str, tag: str, members: set[str] | None, resamples: int, seed: int
) -> StagePassageLoss:
    """Estimate the share of needed passages lost; its interval draws questions with all theirs."""
    counts: dict[str, list[int]] = {}
    for row in rows:
        if members is None or row.query in members:
            both = counts.setdefault(row.query, [0, 0])
            both[0] += row.lost == stage
            both[1] += 1
    table = np.array(list(counts.values()), dtype=np.float64)
    lost, n = (int(total) for total in table.sum(axis=0))
    share = lost / n
    low = high = np.nan
    if len(table) > 1:
        rng = make_seeded_generator(seed, "trace", stage, tag)
        means = resample_means(table, n_resamples=resamples, rng=rng)
        low, high = percentile_interval(means[:, 0] / means[:, 1])
    if np.isnan(low):
        # None, or all: questions are what there are so many of.
        low, high = compute_clopper_pearson(share * len(table), len(table), 0.95)
        return StagePassageLoss(stage, tag, lost, Estimate(share, low, high, n, "Clopper-Pearson over questions"))
    return StagePassageLoss(stage, tag, lost, Estimate(share, low, high, n, "bootstrap over questions"))


def _measure_stage_effects(pipeline: RetrievalPipeline, needed: Needed) -> list[StagePassageEffect]:
    """Measure each later stage's effect beside what the order before it would put into the prompt."""
    most = pipeline.passages
    effects = []
    # Of several searches a passage has the better rank.
    before = [
        {
            query: _find_best_document_ranks([search.lists.get(query, ()) for search in pipeline.searches])
            for query in needed
        }
    ]
    for stage in pipeline.stages:
        after = {query: _map_ids_to_ranks(stage.lists.get(query, ())) for query in needed}
        was = before[-1]
        pairs = [
            (was[query].get(passage), after[query].get(passage))
            for query, passages in needed.items()
            for passage in dict.fromkeys(passages)
        ]
        is_first = [(_is_rank_within(rank, most), _is_rank_within(now, most), now) for rank, now in pairs]
        drops = any(was[query].keys() - after[query].keys() for query in needed)
        fits = all(len(was[query]) <= most for query in needed)
        effects.append(
            StagePassageEffect(
                stage.name,
                sum(is_now and not was_there for was_there, is_now, _ in is_first),
                sum(was_there and not is_now for was_there, is_now, _ in is_first),
                sum(was_there and now is None for was_there, _, now in is_first),
                fits and not drops,
            )
        )
        before.append(after)
    return effects


def _find_best_document_ranks(lists: Sequence[Sequence[str]]) -> dict[str, int]:
    best: dict[str, int] = {}
    for ids in lists:
        for key, rank in _map_ids_to_ranks(ids).items():
            best[key] = min(rank, best.get(key, rank))
    return best


def _is_rank_within(rank: int | None, most: int) -> bool:
    return rank is not None and rank <= most


def _count_passages_by_finding_searches(pipeline: RetrievalPipeline, rows: Sequence[PassageTrace]) -> dict[str, int]:
    """Count passages by the names of the searches that found them, joined by " + "."""
    counts: dict[str, int] = {}
    for row in rows:
        finders = [search.name for search, rank in zip(pipeline.searches, row.ranks, strict=False) if rank is not None]
        name = " + ".join(finders)
        counts[name] = counts.get(name, 0) + 1
    return dict(sorted(counts.items(), key=lambda item: -item[1]))


def _list_notes_on_questions_without_list(pipeline: RetrievalPipeline, needed: Needed) -> list[str]:
    """List questions that a file has no list for: their passages count as not found there."""
    notes = []
    for stage in (*pipeline.searches, *pipeline.stages):
        missing = [query for query in needed if query not in stage.lists]
        if missing:
            notes.append(
                f"{stage.name} has no list for {len(missing):,} of {len(needed):,} questions, such as {missing[0]!r}."
            )
    return notes


def _list_notes_on_questions_over_prompt(pipeline: RetrievalPipeline, needed: Needed) -> list[str]:
    """List questions that need more than the prompt takes: some of theirs are lost in any case."""
    over = [len(set(passages)) - pipeline.passages for passages in needed.values()]
    more = [count for count in over if count > 0]
    if not more:
        return []
    return [
        f"{len(more):,} questions need more passages than fit in the prompt, so {sum(more):,} are lost in any order."
    ]
