"""From requests to a study: every task drawn, checked, numbered, and put together with what annotators are told."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path
from typing import Any

from embassay.data import open_dataset
from embassay.data.catalogue.miniature import (
    DatasetItemCounts,
    choose_representative_shape,
    compute_dataset_sizes_from_record,
    write_miniature_dataset,
)
from embassay.errors import DataError, UsageError
from embassay.protocols.hume.sampling.draws import (
    draw_classification_texts,
    draw_clustering_texts,
    draw_pairs_across_scores,
    draw_reranking_items,
    make_judged_queries_from_corpus,
    make_judged_queries_from_lists,
    take_all_items,
)
from embassay.protocols.hume.sampling.options import (
    QUESTIONS,
    SEED,
    StudySampleRequest,
    TaskSampleRequest,
    complete_rating_scale,
    describe_group_count,
    guideline_version,
    hash_guidelines,
    make_guidelines,
    make_label_choices_in_vote_order,
    parse_sampling_config,
)
from embassay.protocols.hume.sampling.pools import (
    SampledItem,
    SampledTask,
    TaskToDraw,
    count_empty_corpus_documents,
    join_pair_text,
    make_count_note,
    normalise_text_for_comparison,
    open_sampling_tasks,
    seeded_order,
)
from embassay.protocols.hume.study import (
    GOLD,
    Defect,
    ItemGoldAnswer,
    ShownItemRow,
    StudyFile,
    StudyFolder,
    StudyItemSource,
    StudyTask,
    hash_items_and_gold,
    read_jsonl_rows,
    write_study,
)
from embassay.protocols.kernel.absentees import is_dataset_present_or_fetchable, parse_spec_as_absent_dataset
from embassay.records import Documents, LabelledTexts, RerankingSet, RetrievalSet, ScoredTextPairs
from embassay.search.bm25 import Hear, split_words
from embassay.search.fusion import Shingle, collect_word_shingles

SAID: dict[Defect, str] = {
    "leaked": "also in the training data",
    "ambiguous_label": "with several labels in the data",
    "neutral_text": "with a neutral text but no neutral label to choose",
    "parsing_artefact": "with leftover markup or wrong characters",
    "added_context": "with the same label although one text says more",
    "interdisciplinary": "that span several fields",
    "empty": "with an empty text",
    "same_text": "with the same text twice",
}
"""Defect -> how it reads behind `3 of 40 items`."""
_ARTEFACT = re.compile(
    r"&(?:#\d+|[a-z]{2,6});|</?(?:br|p|div|span|a|b|i|img|td|tr|li|ul)\b[^>]*>|\\u[0-9a-f]{4}"
    # Formulas have commands that begin like the escape of a line's end.
    r"|\\n(?!(?:u|eq?|abla|ot(?:in)?|i|eg|mid|onumber|ewline)(?![a-z]))|\ufffd|\u00c3[\u0080-\u00bf]|\u00e2\u20ac",
    re.IGNORECASE,
)
"""Entities, tags, escapes that nobody undid, and UTF-8 read as another encoding."""


def has_text_artefact(text: str) -> bool:
    """Whether a text has remains of markup, of escapes or of a wrong encoding.

    >>> has_text_artefact("Q&amp;A"), has_text_artefact("a & b < c")
    (True, False)
    """
    return _ARTEFACT.search(text) is not None


def mark_item_defects_and_find_twins(
    items: Sequence[SampledItem], trained: Iterable[str]
) -> tuple[tuple[SampledItem, ...], dict[int, TrainingTextMatch]]:
    """The items with what is wrong with each, and the text of `trained` that is the twin of each leaked one."""
    twin = find_training_twins([item.text for item in items], trained)
    return tuple(_mark_defects_of_item(item, place in twin) for place, item in enumerate(items)), twin


def count_items_by_defect(rows: Iterable[ItemGoldAnswer | SampledItem]) -> dict[Defect, int]:
    """Defect -> the number of items that have it, in the order of the list; those of none are left out."""
    counts = Counter(defect for row in rows for defect in set(row.defects))
    return {defect: counts[defect] for defect in SAID if counts[defect]}


def describe_item_defects(rows: Sequence[ItemGoldAnswer] | Sequence[SampledItem]) -> tuple[str, ...]:
    """What is wrong with the items of a task, a line for each defect: `3 of 40 items also in the training data`.

    >>> describe_item_defects([ItemGoldAnswer(id="a-1", gold=1, defects=["leaked"]), ItemGoldAnswer(id="a-2", gold=2)])
    ('1 of 2 items also in the training data',)
    """
    n = len(rows)
    return tuple(f"{count} of {n} items {SAID[defect]}" for defect, count in count_items_by_defect(rows).items())


def describe_task_item_defects(folder: StudyFolder, task: str) -> tuple[str, ...]:
    """What is wrong with the items of a task, in words, for its scores. Reads `gold.jsonl`."""
    ids = {item.id for item in folder.select_task_items(task)}
    return describe_item_defects(
        [row for _, row in read_jsonl_rows(folder.path / GOLD, ItemGoldAnswer) if row.id in ids]
    )


def _mark_defects_of_item(item: SampledItem, leaked: bool) -> SampledItem:
    seen: dict[Defect, bool] = {
        "leaked": leaked,
        "empty": any(not text.strip() for text in item.texts),
        "parsing_artefact": any(has_text_artefact(text) for text in item.texts),
    }
    return replace(item, defects=(*item.defects, *(defect for defect, is_so in seen.items() if is_so)))


THRESHOLD = 0.8
"""The share of common runs of three words from which two texts are near copies."""


@dataclass(frozen=True)
class TrainingTextMatch:
    """A text of the training data that is an item's text: at which position, and how alike, 1 for the same text."""

    position: int
    similarity: float


def find_training_twins(
    texts: Sequence[str], trained: Iterable[str], threshold: float = THRESHOLD
) -> dict[int, TrainingTextMatch]:
    """Position of a text -> the training text that is most like it, the first of equals, where one is near enough.

    Texts are the same where they differ in case and white space only. Near copies have `threshold` of their runs of
    three words in common (Jaccard); texts of less than three words must be the same. One pass over `trained`, of which
    nothing is kept. Source: spec hume 8 (overlap of train and test), trap T11.

    >>> find_training_twins(["a cat sat here", "dogs"], ["Dogs ", "the a cat sat here"])
    {1: TrainingTextMatch(position=0, similarity=1.0)}
    """
    same: dict[str, list[int]] = defaultdict(list)
    having: dict[Shingle, list[int]] = defaultdict(list)
    sizes: list[int] = []
    for place, text in enumerate(texts):
        same[normalise_text_for_comparison(text)].append(place)
        # Fewer than three words have no run of three: these must be the same text.
        near = collect_word_shingles(text) if len(split_words(text)) > 2 else frozenset()
        sizes.append(len(near))
        for key in near:
            having[key].append(place)
    by_place: dict[int, TrainingTextMatch] = {}
    for number, other in enumerate(trained):
        for place in same.get(normalise_text_for_comparison(other), ()):
            _keep_closest_leaked_training_text(by_place, place, TrainingTextMatch(number, 1.0))
        theirs = collect_word_shingles(other)
        # Only items that share a run are counted, so that millions of training rows stay cheap.
        for place, common in Counter(place for key in theirs for place in having.get(key, ())).items():
            similarity = common / (sizes[place] + len(theirs) - common)
            # Two texts of the same words in other writing are near, not the same: below 1.
            if similarity >= threshold:
                _keep_closest_leaked_training_text(by_place, place, TrainingTextMatch(number, min(similarity, 0.999)))
    return dict(sorted(by_place.items()))


def _keep_closest_leaked_training_text(
    twins: dict[int, TrainingTextMatch], place: int, twin: TrainingTextMatch
) -> None:
    if place not in twins or twin.similarity > twins[place].similarity:
        twins[place] = twin


def remove_items_seen_in_training(data: Any, shape: str, trained: Sequence[str]) -> tuple[Any, int]:
    """The data in `shape` without texts, pairs or queries that `trained` has or nearly has, and how many they were."""
    if shape == "classification":
        test, left = remove_items_seen_in_training(data.test, "labelled", (*data.train.texts, *trained))
        return replace(data, test=test), left
    texts = _list_texts_to_match(data, shape)
    leaked = find_training_twins(texts, trained)
    kept = [place for place in range(len(texts)) if place not in leaked]
    return _select_data_rows(data, kept), len(leaked)


def _list_texts_to_match(data: Any, shape: str) -> list[str]:
    if shape == "pairs":
        return list(starmap(join_pair_text, zip(data.first, data.second, strict=True)))
    if shape == "reranking":
        return [queries[0] for queries in data.queries]
    return list(data.queries.texts if shape == "retrieval" else data.texts)


def _select_data_rows(data: Any, kept: Sequence[int]) -> Any:
    """The rows at these positions, in every column."""

    def select_kept_column_values(column: Sequence[Any]) -> tuple[Any, ...]:
        return tuple(column[place] for place in kept)

    if isinstance(data, ScoredTextPairs):
        return ScoredTextPairs(
            select_kept_column_values(data.ids),
            select_kept_column_values(data.first),
            select_kept_column_values(data.second),
            data.scores[list(kept)],
        )
    if isinstance(data, RerankingSet):
        return RerankingSet(
            select_kept_column_values(data.ids),
            select_kept_column_values(data.queries),
            select_kept_column_values(data.candidates),
            select_kept_column_values(data.relevance),
        )
    if isinstance(data, RetrievalSet):
        return replace(
            data,
            queries=Documents(
                select_kept_column_values(data.queries.ids), select_kept_column_values(data.queries.texts)
            ),
        )
    return LabelledTexts(
        select_kept_column_values(data.ids),
        select_kept_column_values(data.texts),
        select_kept_column_values(data.labels),
        select_kept_column_values(data.sets),
    )


LONG = 5000
"""Characters over which a text is long for people: passages of the study have about 2,200 (spec hume 2)."""


def _ignore_progress(doing: str, done: int, total: int) -> None:
    """Listens to progress and says nothing."""


@dataclass(frozen=True)
class SampledStudy:
    """A study that is not yet written; `about_gold` are notes on its tasks for the owner alone."""

    study: StudyFile
    items: tuple[ShownItemRow, ...]
    gold: tuple[ItemGoldAnswer, ...]
    about_gold: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...] = ()
    """Tasks that nobody asked for by family, and that the data are too few for."""

    def __repr__(self) -> str:
        """In a notebook: what the study asks, and nothing of what is right."""
        asked = ", ".join(f"{task.name} ({task.n})" for task in self.study.tasks)
        return f"<study {self.study.name}: {len(self.items)} items; {asked}>"


class NoSuiteDataAvailable(DataError):
    """None of the sets of a suite is on this machine."""


def sample_study(
    datasets: str | Path | Sequence[str | Path],
    *,
    out: str | Path | None = None,
    families: Sequence[str] = (),
    name: str = "",
    seed: int = SEED,
    limit: int | None = None,
    **settings: Any,
) -> SampledStudy:
    """Draw a study of `datasets` (names of the catalogue, or paths) for people to answer, and write it to `out`, a new
    folder, if one is given.

    `families` are `classification`, `clustering`, `reranking`, `sts`; by default all that the data have columns for.
    `settings` are the other keys of a task in a study's file (docs/hume_sampling.md): `n` (items per task, by default
    HUME's), `lang`, `map`, `labels`, `scale`, `candidates` ... With `limit` a task has at most so many items, to try it
    out.

    The same arguments and data give the same study. UsageError for data that cannot serve, a setting that is none, or a
    folder that holds another study; DataError for too few items.
    """
    called = name or (Path(out).resolve().name if out is not None else "study")
    several = [datasets] if isinstance(datasets, str | Path) else datasets
    tasks = [{"data": str(data), "family": list(families), **settings} for data in several]
    drawn = draw_study(parse_sampling_config({"name": called, "seed": seed, "tasks": tasks}), limit=limit)
    if out is not None:
        write_study(Path(out), drawn.study, drawn.items, drawn.gold)
    return drawn


def draw_study(request: StudySampleRequest, *, limit: int | None = None, hear: Hear = _ignore_progress) -> SampledStudy:
    """Draw the study that is asked for, with at most `limit` items per task. `hear` is told (doing, done, total), where
    a total of 0 is unknown.

    The same request and data give the same study. Raises UsageError for data that cannot serve and two tasks of one
    name, NothingAtHand for suites of which nothing is here, DataError for too few items.
    """
    hear("reading", 0, 0)
    left_out: list[str] = []
    pools = [pool for task in request.tasks for pool in _open_tasks_or_note_left_out(task, left_out)]
    if not pools:
        raise NoSuiteDataAvailable(
            f"no data of the suite {request.tasks[0].suite!r} is on this machine", found=left_out[0],
            mend=f"Run `embassay data fetch {request.tasks[0].suite}`."
        )  # fmt: skip
    names = _list_distinct_task_names(pools)
    tasks: list[StudyTask] = []
    items: list[ShownItemRow] = []
    gold: list[ItemGoldAnswer] = []
    about: dict[str, tuple[str, ...]] = {}
    for pool, name in zip(pools, names, strict=True):
        try:
            drawn = _add_defects_to_drawn_items(pool, _draw_task_items(pool, request.seed, limit, hear), limit)
        except DataError as error:
            if (pool.request.family and not pool.request.suite) or len(left_out) + 1 == len(pools):
                raise
            left_out.append(f"{name}: {error.message}")
            continue
        order = seeded_order([item.source_id for item in drawn.items], request.seed, "items", name)
        tasks.append(_make_study_task(pool, name, drawn))
        about[name] = drawn.about_gold
        for number, place in enumerate(order, 1):
            item, key = drawn.items[place], f"{name}-{number:03d}"
            items.append(ShownItemRow(id=key, task=name, payload=dict(item.payload)))
            gold.append(_gold_row(key, item))
    study = StudyFile(
        name=request.name, seed=request.seed, tasks=tasks, guidelines_version=guideline_version(tasks),
        content=hash_items_and_gold(items, gold), guidelines=hash_guidelines(tasks), profile=request.profile
    )  # fmt: skip
    return SampledStudy(study, tuple(items), tuple(gold), about, tuple(left_out))


MINIATURE = 400
"""The most items that are written of a set that is not here; HUME draws fewer."""


def replace_absent_datasets_by_miniatures(
    request: StudySampleRequest, folder: Path
) -> tuple[StudySampleRequest, list[str]]:
    """The request with a miniature, written into `folder`, for each set of a suite that is not on this machine; and the
    names of these sets. The study of it can be counted and priced, and is for nobody to answer."""
    tasks, names = [], []
    for task in request.tasks:
        there = not task.suite or is_dataset_present_or_fetchable(task.data, open_dataset)
        absent = None if there else parse_spec_as_absent_dataset(task.data)
        if absent is None:
            tasks.append(task)
            continue
        whole = compute_dataset_sizes_from_record(absent.record, absent.langs)
        ranks = choose_representative_shape(absent.record) in ("retrieval", "reranking")
        share = min(1.0, MINIATURE / (whole.other if ranks and whole.other else whole.main))
        other = whole.other * share if ranks else min(whole.other, MINIATURE)
        size = DatasetItemCounts(whole.main * share, other)
        path = write_miniature_dataset(absent.record, absent.langs, size, folder)
        tasks.append(task.model_copy(update={"data": str(path)}))
        names.append(absent.record.name)
    return request.model_copy(update={"tasks": tasks}), names


def _open_tasks_or_note_left_out(task: TaskSampleRequest, left_out: list[str]) -> list[TaskToDraw]:
    """The tasks of a dataset; of a suite those that are there, the others are said."""
    try:
        return list(open_sampling_tasks(task))
    except DataError as error:
        if not task.suite or error.line is not None:
            raise
        left_out.append(f"{task.data}: {error.message}")
        return []


def _draw_task_items(pool: TaskToDraw, seed: int, limit: int | None, hear: Hear) -> SampledTask:
    request, data, left = pool.request, pool.data.data, 0
    if request.drop_leaked:
        data, left = remove_items_seen_in_training(data, pool.shape, pool.trained)
    if not len(data):
        return SampledTask((), notes=("all texts are also in the training data",))
    if request.whole:
        return take_all_items(_require_candidate_lists(data), limit)
    drawn = _draw_items_of_family(pool, data, request.size(pool.family, limit), seed, hear)
    return replace(
        drawn,
        notes=(*drawn.notes, *make_count_note(left, "text", "left out because of overlap with the training data")),
    )


def _require_candidate_lists(data: Any) -> Any:
    """The data; UsageError for a corpus, which is no annotated set: nobody has said which documents were shown."""
    if isinstance(data, RetrievalSet):
        raise UsageError(
            "A corpus cannot be used whole, because it does not say which documents people saw for each query.",
            mend="Pass candidates (top_ranked, or rows of query, text, label), or omit --whole.",
        )
    return data


def _draw_items_of_family(pool: TaskToDraw, data: Any, n: int, seed: int, hear: Hear) -> SampledTask:
    request = pool.request
    if pool.family == "sts":
        return draw_pairs_across_scores(data, complete_rating_scale(request.scale), request, n, seed)
    if pool.family == "clustering":
        return draw_clustering_texts(data, request, n, seed)
    if pool.family == "reranking":
        asked, negatives = (
            make_judged_queries_from_corpus(data, hear)
            if pool.shape == "retrieval"
            else make_judged_queries_from_lists(data)
        )
        return draw_reranking_items(asked, negatives, request, n, seed)
    if pool.shape == "classification":
        return draw_classification_texts(data.test, data.train, request, n, seed)
    return draw_classification_texts(data, None, request, n, seed)


def _add_defects_to_drawn_items(pool: TaskToDraw, drawn: SampledTask, limit: int | None) -> SampledTask:
    """The draw with what is wrong with its items. Raises DataError where nothing was drawn."""
    if not drawn.items:
        raise DataError(
            f"Nothing in {pool.data.dataset} can be sampled for {pool.family}: {'; '.join(drawn.notes)}.",
            mend="Use fewer --candidates, or data with more rows.",
        )
    items, defects = mark_item_defects_and_find_twins(drawn.items, (*drawn.trained, *pool.trained))
    near = sum(twin.similarity < 1 for twin in defects.values())
    wanted = pool.request.size(pool.family, limit)
    short = not pool.request.whole and len(items) < wanted and pool.family in ("sts", "reranking")
    empty = count_empty_corpus_documents(pool.data, pool.shape)
    long = sum(max(map(len, item.texts)) > LONG for item in items)
    notes = (
        *(("hard negatives found by BM25, which nobody judged",) if pool.shape == "retrieval" else ()),
        *((f"only {len(items)} of {wanted} items available",) if short else ()),
        *drawn.notes,
        *describe_item_defects(items),
        *make_count_note(long, "item", f"with a long text (over {LONG:,} characters)"),
        *make_count_note(near, "leaked item", "only nearly identical"),
        *make_count_note(empty, "empty document", "in the corpus, never shown"),
    )
    return replace(drawn, items=items, notes=notes)


def _make_study_task(pool: TaskToDraw, name: str, drawn: SampledTask) -> StudyTask:
    request = pool.request
    labels = make_label_choices_in_vote_order(drawn.labels, request.labels) if pool.family == "classification" else []
    scale = complete_rating_scale(request.scale) if pool.family == "sts" else None
    told = request.give_k and pool.family == "clustering"
    groups = len({item.gold for item in drawn.items}) if told else None
    guide = request.guidelines and request.guidelines + (f"\n{describe_group_count(groups)}\n" if told else "")
    return StudyTask(
        name=name, family=pool.family, lang=pool.lang, title=request.title or pool.data.dataset,
        question=request.question or QUESTIONS[pool.family],
        guidelines=guide or make_guidelines(pool.family, labels, scale, groups),
        n=len(drawn.items), labels=labels, scale=scale, practice=list(drawn.practice), groups=groups,
        source=StudyItemSource(
            dataset=request.data, split=request.split, mapping=request.map, grades=request.grades,
            lang=pool.own_lang, fingerprint=pool.data.fingerprint, against=request.against, drawn_from=pool.drawn_from,
        ),
        notes=list(drawn.notes)
    )  # fmt: skip


def _gold_row(key: str, item: SampledItem) -> ItemGoldAnswer:
    return ItemGoldAnswer(
        id=key, gold=item.gold, source_id=item.source_id, documents=list(item.documents), defects=list(item.defects)
    )


def _list_distinct_task_names(pools: Sequence[TaskToDraw]) -> list[str]:
    """A name for each task: the dataset's, with its family and language where it has several."""
    names = []
    for pool in pools:
        same = [other for other in pools if other.request is pool.request]
        name = pool.request.name or re.sub(r"[^A-Za-z0-9._-]+", "-", pool.data.dataset).strip("-._")[:60] or "task"
        name += f"-{pool.family}" if len({other.family for other in same}) > 1 else ""
        names.append(name + (f"-{pool.lang}" if len({other.lang for other in same}) > 1 else ""))
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(f"Two tasks are called {twice}.", mend="Give the tasks unique names in a --config file.")
    return names
