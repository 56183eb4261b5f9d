"""A choice as a declaration: one task over documents, and what all systems together say of which to use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from embassay.contracts import Similarity
from embassay.data import Dataset, open_dataset
from embassay.data.judged_runs import read_qrels
from embassay.data.judged_runs.runs import read_content
from embassay.errors import UsageError
from embassay.measures import ndcg
from embassay.parquet import read_parquet
from embassay.protocols.choose.conclusions import (
    Answers,
    Standing,
    choice_tables,
    concluded,
    deciding,
    standing,
    told,
)
from embassay.protocols.choose.options import ChoiceOptions
from embassay.protocols.choose.signals import DEPTH, Probe, gains, probe, ranks
from embassay.protocols.kernel import evaluation
from embassay.protocols.kernel.estimates import Estimate, Items, Lost, estimate
from embassay.protocols.kernel.evaluation import Fields, Task, TaskProtocol
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.kernel.plan import Plan
from embassay.protocols.kernel.session import Conclusion, Session, Silent
from embassay.protocols.tasks.task import outcome
from embassay.randomness import generator
from embassay.records import Loaded, Result, TaskOutcome
from embassay.registry import Registry
from embassay.runs.execution import Workers
from embassay.runs.folder import CellRecord, digest, to_json, write_atomic
from embassay.systems.remote import Ledger

TASK, HEADLINE = "choice", "found"
K = 10
FEW = 50
"""Passages that are asked about, below which a choice is warned of."""
TO_GRADE = "to_grade.jsonl"
"""The file of a run that names the questions to judge next."""
LABELS, QUERIES = "labels", "queries"
"""Families of questions that are the user's: with judgements, and without."""


@dataclass(frozen=True, eq=False)
class Library:
    """The passages of a corpus with the titles of those that have one ("" of others)."""

    ids: Sequence[str]
    texts: Sequence[str]
    titles: Sequence[str]

    def __len__(self) -> int:
        return len(self.ids)


@dataclass(frozen=True)
class Asked:
    """Questions of users by id, and their judgements where there are any."""

    queries: Mapping[str, str]
    qrels: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True)
class Context(evaluation.Context):
    """With the options of a choice."""

    options: ChoiceOptions = field(default_factory=ChoiceOptions)


def evaluate(system: Similarity, data: Library, context: Context) -> TaskOutcome:
    """What one system finds: items are nDCG@100 of every question by its family, rankings the first ten of each."""
    own, options = probed(data, context.options, context.seed), context.options
    families = [(name, question) for name, some in own.probe.questions.items() for question in some]
    items = Items()
    if not families:
        reason = f"none of {len(own.ids):,} passages has enough words to be asked about"
        return outcome(HEADLINE, reason, items, n=0, counts={"documents": len(own.ids)})
    top = system.search([question.text for _, question in families], own.probe.texts, DEPTH).indices
    documents = Lost(system, own.ids, "documents")
    documents.see_texts(own.probe.texts)
    if documents.too_many:
        return documents.without_score(HEADLINE, items)
    places = ranks(top, np.array([question.row for _, question in families]))
    values = gains(places)
    rankings = _Rankings(own.ids)
    by_passage: dict[str, list[float]] = {}
    scores = []
    for name, some in own.probe.questions.items():
        rows = [place for place, (family, _) in enumerate(families) if family == name]
        ids = [own.ids[question.row] for question in some]
        items.add(ids, values[rows], HEADLINE, name)
        items.add(ids, places[rows], "rank", name)
        scores.append(_mean(values[rows], context, name).score(HEADLINE, variant=name))
        rankings.add(name, ids, top[rows, :K])
        for passage, value in zip(ids, values[rows].tolist(), strict=True):
            by_passage.setdefault(passage, []).append(value)
    if options.queries or options.labels:
        _search_asked(system, own, asked_of(options), items, rankings)
    means = np.array([np.mean(some) for some in by_passage.values()])
    made = outcome(
        HEADLINE, _mean(means, context, "passages"), items, n=len(means), scores=scores, skipped=documents.skipped,
        warnings=_warnings(data, own, len(means)), counts={"documents": len(own.ids), "questions": len(families)},
    )  # fmt: skip
    return replace(made, rankings=rankings.columns)


def _warnings(data: Library, own: Drawn, asked: int) -> Iterator[str]:
    """What makes the questions worth less."""
    if len(own.ids) < len(data):
        yield f"{len(own.ids):,} of {len(data):,} passages were drawn: among more, the right one is harder to find"
    if 2 * own.probe.halved > asked:
        yield (
            f"{own.probe.halved:,} of {asked:,} passages have no sentence to spare and ask with half of their words, "
            "which says less"
        )
    if asked < FEW:
        yield f"{asked:,} passages could be asked about: P(best) holds for {FEW} and more"


def _mean(values: NDArray[np.float64], context: Context, purpose: str) -> Estimate:
    return estimate(values[:, None], lambda means: means[..., 0], context, purpose, "bootstrap over passages")


def _search_asked(system: Similarity, own: Drawn, asked: Asked, items: Items, rankings: _Rankings) -> None:
    """The user's questions, over the passages as they are."""
    ids = list(asked.queries)
    top = system.search([asked.queries[one] for one in ids], own.texts, K).indices
    rankings.add(QUERIES, ids, top)
    places = {one: place for place, one in enumerate(ids)}
    judged = own.judged(asked)
    found = {query: [own.ids[row] for row in top[places[query]].tolist() if row >= 0] for query in judged}
    if judged:
        items.add(list(judged), np.asarray(ndcg(judged, found, K)), "ndcg@10", LABELS)


class _Rankings:
    """The first ten of every question, as columns."""

    def __init__(self, ids: Sequence[str]) -> None:
        self.columns: dict[str, list[Any]] = {"query_id": [], "version": [], "rank": [], "doc_id": []}
        self._ids = ids

    def add(self, version: str, ids: Sequence[str], top: NDArray[np.int64]) -> None:
        for query, rows in zip(ids, top.tolist(), strict=True):
            for rank, row in enumerate(rows, 1):
                if row >= 0:
                    for name, value in zip(self.columns, (query, version, rank, self._ids[row]), strict=True):
                        self.columns[name].append(value)


@dataclass(frozen=True, eq=False)
class Drawn:
    """The passages that are searched, and the questions that they ask of themselves."""

    ids: Sequence[str]
    texts: Sequence[str]
    probe: Probe

    def judged(self, asked: Asked) -> dict[str, dict[str, float]]:
        """The judgements of passages that are searched, of questions with a relevant one."""
        known = set(self.ids)
        found = {
            query: {doc: gain for doc, gain in asked.qrels.get(query, {}).items() if doc in known}
            for query in asked.queries
        }
        return {query: grades for query, grades in found.items() if any(gain > 0 for gain in grades.values())}


@lru_cache(maxsize=4)
def probed(data: Library, options: ChoiceOptions, seed: int) -> Drawn:
    """The passages that are drawn, all that are judged among them."""
    asked = asked_of(options) if options.labels else Asked({}, {})
    judged = {doc for grades in asked.qrels.values() for doc in grades}
    n = len(data)
    first = [row for row, one in enumerate(data.ids) if one in judged] if judged else []
    if judged and not first:
        doc = min(judged)
        raise UsageError(
            f"None of the {len(judged):,} judged passages is in the corpus, which has no {doc!r} for example.",
            mend="Judgements name passages by their ids; `embassay data check` shows those of the corpus.",
        )
    if n > options.passages:
        known = set(first)
        order = generator(seed, "choose", "draw").permutation(n).tolist()
        rest = [row for row in order if row not in known][: max(0, options.passages - len(first))]
        rows = sorted([*first, *rest])
    else:
        rows = list(range(n))
    ids, texts, titles = ([column[row] for row in rows] for column in (data.ids, data.texts, data.titles))
    return Drawn(ids, texts, probe(texts, titles, options.questions, seed))


@lru_cache(maxsize=4)
def asked_of(options: ChoiceOptions) -> Asked:
    """The user's questions and judgements. UsageError where questions are named by ids and the texts are nowhere."""
    qrels: dict[str, dict[str, float]] = {}
    if options.labels:
        frame = read_qrels(Path(options.labels)).frame
        for query, doc, value in frame.select("query", "doc", "value").iter_rows():
            qrels.setdefault(query, {})[doc] = float(value)
    if options.queries:
        loaded = open_dataset(options.queries).load("documents").data
        queries = dict(zip(loaded.ids, loaded.texts, strict=True))
        if qrels and not qrels.keys() & queries.keys():
            raise UsageError(
                f"No judged question is in {options.queries}, which has no {min(qrels)!r} for example.",
                mend="query_id of the judgements must be the id of the questions.",
            )
        return Asked(queries, qrels)
    if qrels and not any(" " in query for query in qrels):
        raise UsageError(
            f"{options.labels} names questions by ids such as {min(qrels)!r}, and their texts are nowhere.",
            mend="Give the questions with --queries FILE, or judgements whose column query has their texts.",
        )
    return Asked({query: query for query in qrels}, qrels)


def choice() -> Task:
    """Which system finds what the documents ask of themselves?"""

    def load(dataset: Dataset, limit: int | None, seed: int) -> Loaded[Any]:
        loaded: Loaded[Any] = dataset.load("documents", limit=limit, seed=seed)
        titles = _titles(dataset) if "title" in dataset.parts["documents"].columns() else {}
        data = loaded.data
        return replace(loaded, data=Library(data.ids, data.texts, [titles.get(one, "") for one in data.ids]))

    def fields(data: Library) -> Fields:
        return {"text": (data.ids, data.texts)}

    return Task(TASK, "Choice", ("documents",), HEADLINE, 2, evaluate, load, fields)


def _titles(dataset: Dataset) -> dict[str, str]:
    rows = dataset.parts["documents"].rows(("id", "title"))
    return {str(row.cells.get("id")): str(row.cells.get("title") or "") for row in rows}


TASKS: Registry[Task] = Registry("task", makes=[("name", "headline")])
TASKS.add(TASK, "embassay.protocols.choose.protocol:choice", "which system to use, without labels")


class Choices(TaskProtocol):
    """Which system to use on documents without labels: P(best), expected regret, and what labels would decide."""

    name = "choose"
    version = 1
    tasks = TASKS
    paper = (TASK,)
    context = Context
    options = ChoiceOptions
    kinds: ClassVar = {TASK: "search"}

    def texts(self, task: Task, data: Library, options: ChoiceOptions) -> int:
        """Passages that are searched, and questions in their wordings."""
        del task
        searched = min(len(data), options.passages)
        return searched + 6 * min(searched, options.questions)

    def needed(self, task: str, system: Similarity, data: Any, fields: Any, options: Any) -> Any:
        """Of the passages that are searched."""
        few = Library(*(column[: options.passages] for column in (data.ids, data.texts, data.titles)))
        del fields
        return super().needed(task, system, few, {"text": (few.ids, few.texts)}, options)

    def own_key(self, system: Any, task: Any) -> dict[str, Any]:
        """What the files of questions and judgements hold."""
        del system, task
        return self.files

    def plan(self, request: Any, cache: Path | None = None, ledger: Ledger | None = None) -> Plan:
        """UsageError besides where there is nothing to choose between."""
        options = request.options
        self.files = {
            name: digest(read_content(Path(path)).decode("latin-1"))
            for name in (QUERIES, LABELS)
            if (path := getattr(options, name))
        }
        if options.queries or options.labels:
            asked_of(options)
        plan = super().plan(request, cache, ledger)
        if sum(one.kind != "reference" for one in plan.systems) < 2:
            raise UsageError(
                "There is nothing to choose between.",
                mend="Name two systems or more: -s bm25 -s wordllama -s minilm.",
            )
        for one in plan.datasets if options.labels else ():
            probed(self.loaded(request, one.source, TASK).data, options, request.seed)
        return plan

    def work(self, session: Session, listener: Silent) -> None:
        """The cells, and then the questions whose judgements would tell most, with the passages to grade."""
        session.do(listener)
        plan = session.plan
        for one in plan.datasets:
            answers = self._answered(plan, one.name, session.ended())
            if len(answers) > 1:
                found = self._concluded(plan, one.name, answers)
                write_atomic(self.folder.path / TO_GRADE, self._to_grade(plan, one.source, answers, found))

    def _to_grade(self, plan: Plan, source: str, answers: Mapping[str, Answers], found: Standing) -> str:
        options = plan.request.options
        own = probed(self.loaded(plan.request, source, TASK).data, options, plan.request.seed)
        texts = dict(zip(own.ids, own.texts, strict=True))
        asked: Mapping[str, str] = asked_of(options).queries
        posed = {own.ids[one.row]: one.text for one in own.probe.questions.get("half", ())}
        rows = (
            {
                "id": question,
                "text": asked[question] if family == QUERIES else posed[question],
                "passages": [{"id": doc, "text": texts[doc]} for doc in passages],
            }
            for family, question, passages in deciding(answers, found)
        )
        return "".join(to_json(row) + "\n" for row in rows)

    def call(self, request: Any, out: Path) -> str:
        """The call from Python that makes the run, for its manifest."""
        return f"embassay.choose({list(request.systems)!r}, {request.datasets[0]!r}, out={str(out)!r})"

    def conclude(self, plan: Plan, records: Sequence[CellRecord], rows: Sequence[Result]) -> Conclusion:
        """Besides who finds what: P(best), expected regret, and what labels would decide."""
        before = super().conclude(plan, records, rows)
        answered = {one.name: self._answered(plan, one.name, records) for one in plan.datasets}
        made = [self._concluded(plan, name, some) for name, some in answered.items() if len(some) > 1]
        more = [row for one in made for row in concluded(one, plan.request.seed)]
        tables = [table for one in made for table in choice_tables(one)]
        choices = {one.dataset: told(one) for one in made}
        return replace(
            before, rows=[*before.rows, *more], tables=[*before.tables, *tables],
            comparisons={**before.comparisons, "choice": choices},
        )  # fmt: skip

    def _answered(self, plan: Plan, dataset: str, records: Sequence[CellRecord]) -> dict[str, Answers]:
        done = {record.system for record in records if record.done and record.dataset == dataset}
        return {
            name: found
            for name in _contenders(plan)
            if name in done and (found := self._answers(dataset, name)) is not None
        }

    def _concluded(self, plan: Plan, dataset: str, answers: Mapping[str, Answers]) -> Standing:
        missing = [name for name in _contenders(plan) if name not in answers]
        options = plan.request.options
        return standing(dataset, plan.lang(dataset), answers, options.tolerance, plan.request.seed, missing)

    def _answers(self, dataset: str, system: str) -> Answers | None:
        paths = [self.folder.items_path(TASK, dataset, system, suffix) for suffix in ("", ".rankings")]
        return read_answers(*paths) if all(path.exists() for path in paths) else None


def _contenders(plan: Plan) -> list[str]:
    return [one.name for one in plan.systems if one.kind != "reference"]


def read_answers(items: Path, rankings: Path) -> Answers | None:
    """Of the files of a cell; None where it has no questions."""
    places: dict[str, dict[str, int]] = {}
    judged: dict[str, float] = {}
    columns = ["item_id", "variant", "measure", "value"]
    for one, variant, measure, value in read_parquet(items, columns).iter_rows():
        if measure == "rank":
            places.setdefault(variant, {})[one] = int(value)
        elif variant == LABELS and value is not None:
            judged[one] = value
    first: dict[str, dict[str, set[str]]] = {}
    for query, version, doc in read_parquet(rankings, ["query_id", "version", "doc_id"]).iter_rows():
        first.setdefault(version, {}).setdefault(query, set()).add(doc)
    frozen = {name: {one: frozenset(docs) for one, docs in some.items()} for name, some in first.items()}
    return Answers(places, judged, frozen) if places else None


def choose(
    systems: Sequence[Any] | Mapping[str, Any],
    corpus: Any,
    *,
    out: str | Path | None = None,
    workers: Workers = 1,
    cache: Path | None = None,
    listener: Silent | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Choose among two systems or more for a corpus without labels, resuming what is unfinished in `out`; the run.

    `corpus` is a folder of documents, a table with a column `text`, a name of the catalogue, a frame or a list of
    dictionaries. Further arguments are those of `TaskProtocol.run`, `tokenizer` being "words" where it isn't given;
    `options` are `ChoiceOptions`. `run.table("choice")` has the systems, the likeliest first.
    """
    arguments.setdefault("tokenizer", "words")
    return Choices().run(
        systems, datasets=[corpus], out=out, workers=workers, cache=cache, listener=listener, max_usd=max_usd,
        **arguments,
    )  # fmt: skip
