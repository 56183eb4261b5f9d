"""The noise probe's texts: questions, what they are about, small talk around them, and what rewriters make of that."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Role
from embassay.data.retrieval import grade_map, suggest_grade_map
from embassay.errors import DataError, UsageError
from embassay.measures.judgements import ABSENT, RELEVANT, UNJUDGED
from embassay.protocols.kernel import inputs as opening
from embassay.protocols.kernel.groups import Labels, group_items_sharing_things
from embassay.protocols.kernel.inputs import charge_calls_to_account
from embassay.protocols.kernel.session import SilentListener
from embassay.protocols.rag.judges import Question
from embassay.protocols.rag.probes.bundles import make_name_probe_bundles, make_or_read_authors_and_topics
from embassay.protocols.rag.probes.names import (
    compose_corpus_and_queries,
    locate_bundle_passages_in_corpus,
    make_name_probe_bundles_per_run,
)
from embassay.protocols.rag.probes.options import BUNDLED, LANGS, NoiseRequest
from embassay.protocols.rag.rewriters import QuestionRewriter
from embassay.randomness import draw_random_bytes
from embassay.records import LoadedDataset, RetrievalSet, SkippedItems
from embassay.runs.execution import CallFailure, run_concurrent_jobs
from embassay.runs.folder import digest_json, write_json
from embassay.systems.remote import Ledger
from embassay.systems.remote.calls import run_in_remote_loop_and_wait

Lang = Literal["en", "fr"]
QUERY = "query"
LEVELS: tuple[tuple[str, ...], ...] = (
    (QUERY,),
    ("greeting", QUERY),
    ("greeting", "filler", QUERY),
    ("greeting", "digression", "filler", QUERY, "politeness"),
    ("greeting", "apology", "context", "hedge", QUERY, "emoji"),
)
"""What each level consists of, in order. Source: spec rag 5.4; levels 1 and 3 and the phrases are ours."""


def add_small_talk_to_question(query: str, level: int, *, lang: Lang, seed: int, key: str) -> str:
    """The question with the small talk of this level around it; `key` (its id) and `seed` choose the phrases.

    A phrase that two levels share is the same in both, so that a level differs from the one below by what it adds.
    UsageError for another level or language.

    >>> add_small_talk_to_question("Why is the sea salt?", 0, lang="en", seed=1, key="q1")
    'Why is the sea salt?'
    >>> add_small_talk_to_question("Why is the sea salt?", 2, lang="en", seed=1,
    ... key="q1").endswith("Why is the sea salt?")
    True
    """
    if not 0 <= level < len(LEVELS):
        raise UsageError(f"There is no noise level {level}.", mend=f"Levels are 0 to {len(LEVELS) - 1}.")
    bank = read_small_talk_phrases().get(lang)
    if bank is None:
        raise UsageError(
            f"There is no small talk in {lang!r}.", mend=f"Available: {' and '.join(read_small_talk_phrases())}."
        )
    return " ".join(
        query if part == QUERY else _draw_phrase(bank[part], seed, lang, part, key) for part in LEVELS[level]
    )


@cache
def read_small_talk_phrases() -> Mapping[str, Mapping[str, Sequence[str]]]:
    """Language -> part -> phrases."""
    text = files("embassay.protocols.rag.probes").joinpath("phrases.json").read_text("utf-8")
    loaded: Mapping[str, Mapping[str, Sequence[str]]] = json.loads(text)
    return loaded


def _draw_phrase(bank: Sequence[str], seed: int, *names: str) -> str:
    return bank[int.from_bytes(draw_random_bytes(8, seed, "noise", *names), "big") % len(bank)]


NEEDS: Mapping[Lang, str] = {"en": "works by {A} on {T}", "fr": "travaux de {A} sur {T}"}
"""What a bundled query asks for, said plainly (ours)."""
CORPUS_RUNS = 5
"""So many runs' bundles are the collection that bundled queries are searched in."""


@dataclass(frozen=True)
class NoiseQuestions:
    """Questions in one language. `references` are what each is compared with, in the `role` of an encoder; `grades` are
    those of passages by their place in the corpus, for each question."""

    dataset: str
    lang: Lang
    ids: tuple[str, ...]
    texts: tuple[str, ...]
    references: tuple[str, ...]
    role: Role
    corpus: Sequence[str]
    grades: tuple[Mapping[int, int], ...]
    fingerprint: str
    skipped: tuple[SkippedItems, ...] = ()
    warnings: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.ids)

    def together(self) -> Labels | None:
        """The group of each question: those that share a relevant passage or are of the same words; None where each is
        by itself."""
        relevant = [[str(place) for place, grade in row.items() if grade >= RELEVANT] for row in self.grades]
        return group_items_sharing_things(relevant, self.texts)

    def counts(self) -> NDArray[np.int64]:
        """The counts of graded passages of grade 1, 2, 3, 4, 5 for each question, (q, 5)."""
        return np.array([np.bincount(list(grade.values()), minlength=6)[1:] for grade in self.grades])

    def top(self, indices: NDArray[np.int64]) -> NDArray[np.int8]:
        """The grades of the top passages by rank, from places in the corpus (q, k)."""
        rows = [
            [ABSENT if place < 0 else graded.get(place, UNJUDGED) for place in row]
            for graded, row in zip(self.grades, indices.tolist(), strict=True)
        ]
        return np.array(rows, dtype=np.int8)


def load_noise_probe_questions(request: NoiseRequest, source: str, lang: Lang) -> NoiseQuestions:
    """The questions of a dataset in a language; the last few stay in memory."""
    return _open_bundled_or_dataset_questions(request.of_texts(), source, lang)


@lru_cache(maxsize=4)
def _open_bundled_or_dataset_questions(request: NoiseRequest, source: str, lang: Lang) -> NoiseQuestions:
    return (
        _load_bundled_noise_questions(request, lang)
        if source == BUNDLED
        else _open_noise_probe_questions(request, source, lang)
    )


def list_probed_languages(request: NoiseRequest, source: str) -> tuple[Lang, ...]:
    """The languages that a dataset is probed in. UsageError where it has none of those that there is small talk in."""
    if source == BUNDLED:
        return request.langs or LANGS
    dataset = opening.open_request_dataset(request.dataset(source))
    if len(dataset.langs) < 2:
        stated = tuple(lang for lang in LANGS if lang == dataset.lang)
        if request.langs and stated and stated != request.langs:
            stated = tuple(lang for lang in stated if lang in request.langs)
        langs = stated or (request.langs[:1] if dataset.lang == "und" and len(request.langs) == 1 else ())
    else:
        langs = tuple(lang for lang in LANGS if lang in dataset.langs and lang in (request.langs or LANGS))
    if not langs:
        raise UsageError(
            f"The noise probe has no small talk for the dataset {source!r} (language {dataset.lang!r}).",
            mend="If the data do not state their language, set it with --lang en or --lang fr.",
        )
    return langs


def _load_bundled_noise_questions(request: NoiseRequest, lang: Lang) -> NoiseQuestions:
    of = make_or_read_authors_and_topics(lang, **request.files)
    size = min(request.queries, request.limit or request.queries)
    first = make_name_probe_bundles(of, size, seed=request.seed)
    by_run = make_name_probe_bundles_per_run(of, size, CORPUS_RUNS, request.seed)
    corpus = locate_bundle_passages_in_corpus(by_run, request.seed)
    passages, of_runs = compose_corpus_and_queries(by_run, corpus, "base", request.seed)
    if request.reference == "passage":
        references = [_find_best_graded_passage(corpus.grades[q], passages) for q in range(size)]
    else:
        references = [NEEDS[lang].replace("{A}", bundle.author.name).replace("{T}", bundle.topic) for bundle in first]
    grades = [{int(p): int(row[p]) for p in np.flatnonzero(row > 1)} for row in corpus.grades]
    fingerprint = digest_json([lang, [person.name for person in of.people], list(of.topics), size, request.seed])
    name = f"{'own' if request.people or request.topics else BUNDLED}-{lang}"
    return NoiseQuestions(
        name, lang, tuple(f"{q:03d}" for q in range(size)), tuple(of_runs[0]), tuple(references),
        "document" if request.reference == "passage" else "query", tuple(passages), tuple(grades), fingerprint
    )  # fmt: skip


def _find_best_graded_passage(grades: NDArray[np.int8], passages: list[str]) -> str:
    return passages[int(np.argmax(grades))]


def _open_noise_probe_questions(request: NoiseRequest, source: str, lang: Lang) -> NoiseQuestions:
    if request.reference == "need":
        raise UsageError(
            f"The dataset {source!r} has no plain statement of what each query needs.",
            mend="Use --reference passage to compare with the best passage.",
        )
    dataset = opening.open_request_dataset(request.dataset(source))
    several = len(dataset.langs) > 1
    if several:
        dataset = dataset.subsets("retrieval")[lang]
    loaded = dataset.load("retrieval", seed=request.seed)
    table, note = _make_gain_to_grade_map(loaded, request)
    usable = list(
        _list_questions_with_graded_passages(loaded.data, table, _draw_query_ids(loaded.data.queries.ids, request))
    )
    if not usable:
        raise DataError(f"no query of {loaded.dataset!r} has a relevant passage with text", expected="at least one")
    ids, texts, best, grades = zip(*usable, strict=True)
    corpus = loaded.data.corpus.texts
    name = f"{loaded.dataset}-{lang}" if several else loaded.dataset
    return NoiseQuestions(
        name, lang, ids, texts, tuple(corpus[place] for place in best), "document", corpus, grades,
        digest_json([loaded.fingerprint, list(ids), request.grades]), loaded.skipped, (*loaded.warnings, note)
    )  # fmt: skip


def _list_questions_with_graded_passages(
    data: RetrievalSet, table: Mapping[float, int], chosen: set[str]
) -> Iterator[tuple[str, str, int, Mapping[int, int]]]:
    """Id, text, place of the best passage (of equals the first in the corpus) and grades by place."""
    judged = {doc for key in chosen for doc in data.qrels[key]}
    place = {key: at for at, key in enumerate(data.corpus.ids) if key in judged}
    for key, text in zip(data.queries.ids, data.queries.texts, strict=True):
        if key not in chosen:
            continue
        grades = {place[doc]: table[gain] for doc, gain in data.qrels[key].items() if doc in place}
        with_text = [grade for grade in grades if data.corpus.texts[grade]]
        if with_text:
            best = max(with_text, key=lambda at: (grades[at], -at))
            yield key, text, best, grades


def _draw_query_ids(ids: Sequence[str], request: NoiseRequest) -> set[str]:
    """The queries that a limit leaves: drawn by their ids alone."""
    if request.limit is None or request.limit >= len(ids):
        return set(ids)
    return set(sorted(ids, key=lambda key: draw_random_bytes(8, request.seed, "limit", key))[: request.limit])


def _make_gain_to_grade_map(loaded: LoadedDataset[RetrievalSet], request: NoiseRequest) -> tuple[dict[float, int], str]:
    """Gain -> grade from 1 to 5, and how that was done: gains of 0 to 4 are grades less 1, values up to 5 are grades;
    other scales, binary ones among them, are spread. DataError where it is not sure what they mean."""
    gains = sorted({gain for judged in loaded.data.qrels.values() for gain in judged.values()})
    if request.grades or max(gains) == 4:
        table: dict[Any, Any] = {gain: int(gain) + 1 for gain in gains}
    elif max(gains) == 5 and all(gain in range(6) for gain in gains):
        table = {gain: max(int(gain), 1) for gain in gains}
    elif fitting := suggest_grade_map([0.0, *gains]):
        table = dict(grade_map(fitting))
    else:
        levels = ", ".join(f"{gain:g}" for gain in gains[:8])
        raise DataError(
            f"it is unclear what the judgements of {loaded.dataset!r} mean", found=levels,
            expected="grades from 1 to 5", mend="Map them: --grades VALUE=GRADE,..., such as --grades 20=5,10=3,0=1."
        )  # fmt: skip
    grades = {gain: int(table[gain]) for gain in gains}
    spelled = ", ".join(f"{gain:g} is {grade}" for gain, grade in grades.items())
    return grades, f"gains read as grades from 1 to 5: {spelled}"


Wordings = tuple[tuple[str | None, ...], ...]
"""The text of each question in each run, None where there is none."""
NOISIEST = len(LEVELS) - 1


def name_noise_level(level: int, rewriter: str = "") -> str:
    """How rows of results call a level, and what a rewriter made of it.

    >>> name_noise_level(4), name_noise_level(4, "rules")
    ('level=4', 'level=4:rules')
    """
    return f"level={level}" + (f":{rewriter}" if rewriter else "")


@dataclass(frozen=True)
class QuestionWordingsAtNoiseLevel:
    """The questions at a level, as asked or rewritten."""

    level: int
    rewriter: str
    texts: Wordings

    @property
    def name(self) -> str:
        return name_noise_level(self.level, self.rewriter)


def add_small_talk_at_all_levels(questions: NoiseQuestions, runs: int, seed: int) -> list[QuestionWordingsAtNoiseLevel]:
    """The questions at every level; the small talk of run r is drawn from seed + r."""
    return [
        QuestionWordingsAtNoiseLevel(
            level,
            "",
            tuple(
                tuple(
                    add_small_talk_to_question(text, level, lang=questions.lang, seed=seed + run, key=key)
                    for key, text in zip(questions.ids, questions.texts, strict=True)
                )
                for run in range(runs)
            ),
        )
        for level in range(len(LEVELS))
    ]


def apply_rewritings_to_variants(
    variants: Sequence[QuestionWordingsAtNoiseLevel], rewriter: str, rewritings: Mapping[str, str]
) -> list[QuestionWordingsAtNoiseLevel]:
    """The same after rewriting, by text; a question without a rewriting has none."""
    return [
        QuestionWordingsAtNoiseLevel(
            variant.level, rewriter, tuple(tuple(rewritings.get(text or "") for text in run) for run in variant.texts)
        )
        for variant in variants
    ]


class RewritingStore:
    """Text -> rewriting of one rewriter, in a file of the run."""

    def __init__(self, folder: Path, identity: str) -> None:
        self.path = folder / "rewritings" / f"{digest_json(identity)[:16]}.json"

    def read(self) -> Mapping[str, str]:
        """Read all rewritings that are there."""
        try:
            texts: Mapping[str, str] = json.loads(self.path.read_text("utf-8"))
        except (OSError, ValueError, RecursionError):
            return {}
        return texts

    def complete(
        self, rewriter: QuestionRewriter, texts: Iterable[str], listener: SilentListener, ledger: Ledger | None
    ) -> Mapping[str, str]:
        """Have the texts rewritten that are not there; text -> why of those that cannot be. What comes is kept, also
        when the money ends (BudgetExceeded) or the model cannot be had (ModelError)."""
        rewritings = dict(self.read())
        waiting = [text for text in dict.fromkeys(texts) if text not in rewritings]
        failed: dict[str, str] = {}
        if not waiting:
            return failed
        listener.stage(f"rewriting by {rewriter.name}", len(waiting), "questions")

        async def rewrite_missing_texts() -> None:
            jobs = [partial(rewriter.rewrite, Question(str(i), text)) for i, text in enumerate(waiting)]
            async for place, outcome in run_concurrent_jobs(jobs, progress=listener.advanced_by):
                if isinstance(outcome, CallFailure):
                    failed[waiting[place]] = outcome.reason
                else:
                    rewritings[waiting[place]] = outcome

        try:
            with charge_calls_to_account(ledger, rewriter.name):
                run_in_remote_loop_and_wait(rewrite_missing_texts)
        finally:
            # Sorted, for answers come in any order and the file should not depend on it.
            ordered = {text: rewritings[text] for text in sorted(rewritings)}
            write_json(self.path, ordered)
        return failed
