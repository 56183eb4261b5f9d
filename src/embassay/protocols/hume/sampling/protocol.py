"""From requests to a study: every task drawn, checked, numbered, and put together with what annotators are told."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embassay.errors import DataError, UsageError
from embassay.protocols.hume.folder.files import (
    GoldRow,
    ItemRow,
    Source,
    StudyFile,
    Task,
    content_hash,
    write_study,
)
from embassay.protocols.hume.sampling.defects import in_words, with_defects, without_leaked
from embassay.protocols.hume.sampling.draws import (
    draw_classification,
    draw_clustering,
    draw_pairs,
    draw_reranking,
    from_corpus,
    from_lists,
)
from embassay.protocols.hume.sampling.instructions import (
    QUESTIONS,
    guidelines,
    label_choices,
    scale_of,
    told_hash,
    version_of,
)
from embassay.protocols.hume.sampling.options import SEED, SampleRequest, checked
from embassay.protocols.hume.sampling.pools import Chosen, Drawn, counted, seeded
from embassay.protocols.hume.sampling.sources import Opened, empty_texts, opened
from embassay.search.bm25 import Hear

LONG = 5000
"""Characters over which a text is long for people: passages of the study have about 2,200 (spec hume 2)."""


def _unheard(doing: str, done: int, total: int) -> None:
    """Listens to progress and says nothing."""


@dataclass(frozen=True)
class Sampled:
    """A study that is not yet written; `about_gold` are notes on its tasks for the owner alone."""

    study: StudyFile
    items: tuple[ItemRow, ...]
    gold: tuple[GoldRow, ...]
    about_gold: Mapping[str, tuple[str, ...]]
    left_out: tuple[str, ...] = ()
    """Tasks that nobody asked for by family, and that the data are too few for."""


def sample_study(
    datasets: Sequence[str | Path],
    *,
    out: str | Path | None = None,
    families: Sequence[str] = (),
    name: str = "",
    seed: int = SEED,
    limit: int | None = None,
    **settings: Any,
) -> Sampled:
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
    tasks = [{"data": str(data), "family": list(families), **settings} for data in datasets]
    drawn = sample(checked({"name": called, "seed": seed, "tasks": tasks}), limit=limit)
    if out is not None:
        write_study(Path(out), drawn.study, drawn.items, drawn.gold)
    return drawn


def sample(request: SampleRequest, *, limit: int | None = None, hear: Hear = _unheard) -> Sampled:
    """Draw the study that is asked for, with at most `limit` items per task. `hear` is told (doing, done, total), where
    a total of 0 is unknown.

    The same request and data give the same study. Raises UsageError for data that cannot serve and two tasks of one
    name, DataError for too few items.
    """
    hear("reading", 0, 0)
    found = [one for task in request.tasks for one in opened(task)]
    names = _names(found)
    tasks: list[Task] = []
    items: list[ItemRow] = []
    gold: list[GoldRow] = []
    about: dict[str, tuple[str, ...]] = {}
    left_out: list[str] = []
    for one, name in zip(found, names, strict=True):
        try:
            drawn = _checked(one, _drawn(one, request.seed, limit, hear), limit)
        except DataError as error:
            if one.request.family or len(left_out) + 1 == len(found):
                raise
            left_out.append(f"{name}: {error.message}")
            continue
        order = seeded([item.source_id for item in drawn.items], request.seed, "items", name)
        tasks.append(_task(one, name, drawn))
        about[name] = drawn.about_gold
        for number, place in enumerate(order, 1):
            item, key = drawn.items[place], f"{name}-{number:03d}"
            items.append(ItemRow(id=key, task=name, payload=dict(item.payload)))
            gold.append(_gold(key, item))
    study = StudyFile(
        name=request.name, seed=request.seed, tasks=tasks, guidelines_version=version_of(tasks),
        content=content_hash(items, gold), guidelines=told_hash(tasks),
    )  # fmt: skip
    return Sampled(study, tuple(items), tuple(gold), about, tuple(left_out))


def _drawn(one: Opened, seed: int, limit: int | None, hear: Hear) -> Drawn:
    request, data, left = one.request, one.data.data, 0
    if request.drop_leaked:
        data, left = without_leaked(data, one.shape, one.trained)
    if not len(data):
        return Drawn((), notes=("all texts are also in the training data",))
    drawn = _of_family(one, data, request.size(one.family, limit), seed, hear)
    return replace(drawn, notes=(*drawn.notes, *counted(left, "text", "also in the training data left out")))


def _of_family(one: Opened, data: Any, n: int, seed: int, hear: Hear) -> Drawn:
    request = one.request
    if one.family == "sts":
        return draw_pairs(data, scale_of(request.scale), request, n, seed)
    if one.family == "clustering":
        return draw_clustering(data, request, n, seed)
    if one.family == "reranking":
        asked, negatives = from_corpus(data, hear) if one.shape == "retrieval" else from_lists(data)
        return draw_reranking(asked, negatives, request, n, seed)
    if one.shape == "classification":
        return draw_classification(data.test, data.train, request, n, seed)
    return draw_classification(data, None, request, n, seed)


def _checked(one: Opened, drawn: Drawn, limit: int | None) -> Drawn:
    """The draw with what is wrong with its items. Raises DataError where nothing was drawn."""
    if not drawn.items:
        raise DataError(
            f"Nothing of {one.data.dataset} can be sampled for {one.family}: {'; '.join(drawn.notes)}.",
            mend="Ask for fewer --candidates, or give data with more rows.",
        )
    items, found = with_defects(drawn.items, (*drawn.trained, *one.trained))
    near = sum(twin.similarity < 1 for twin in found.values())
    wanted = one.request.size(one.family, limit)
    short = len(items) < wanted and one.family in ("sts", "reranking")
    empty = empty_texts(one.data, one.shape)
    long = sum(max(map(len, item.texts)) > LONG for item in items)
    notes = (
        *(("hard negatives found by BM25, which nobody judged",) if one.shape == "retrieval" else ()),
        *((f"{len(items)} of {wanted} items: all that there are",) if short else ()),
        *drawn.notes,
        *in_words(items),
        *counted(long, "item", f"with a text over {LONG:,} characters, long to read"),
        *counted(near, "leaked item", "a near copy, not the same"),
        *counted(empty, "empty document", "in the corpus, never shown"),
    )
    return replace(drawn, items=items, notes=notes)


def _task(one: Opened, name: str, drawn: Drawn) -> Task:
    request = one.request
    labels = label_choices(drawn.labels, request.labels) if one.family == "classification" else []
    scale = scale_of(request.scale) if one.family == "sts" else None
    return Task(
        name=name, family=one.family, lang=one.lang, title=request.title or one.data.dataset,
        question=request.question or QUESTIONS[one.family],
        guidelines=request.guidelines or guidelines(one.family, labels, scale),
        n=len(drawn.items), labels=labels, scale=scale, practice=list(drawn.practice),
        source=Source(
            dataset=request.data, split=request.split, mapping=request.map, grades=request.grades,
            lang=one.own_lang, fingerprint=one.data.fingerprint, against=request.against, drawn_from=one.drawn_from,
        ),
        notes=list(drawn.notes),
    )  # fmt: skip


def _gold(key: str, item: Chosen) -> GoldRow:
    return GoldRow(
        id=key,
        gold=item.gold,
        source_id=item.source_id,
        documents=list(item.documents),
        defects=list(item.defects),
    )


def _names(found: Sequence[Opened]) -> list[str]:
    """A name for each task: the dataset's, with its family and language where it has several."""
    names = []
    for one in found:
        own = [other for other in found if other.request is one.request]
        name = (
            one.request.name or re.sub(r"[^A-Za-z0-9._-]+", "-", one.data.dataset).strip("-._")[:60] or "task"
        )
        name += f"-{one.family}" if len({other.family for other in own}) > 1 else ""
        names.append(name + (f"-{one.lang}" if len({other.lang for other in own}) > 1 else ""))
    if twice := next((name for name in names if names.count(name) > 1), ""):
        raise UsageError(
            f"Two tasks are called {twice}.",
            mend="Give the tasks names of their own in a file, with --config.",
        )
    return names
