"""What is searched and what is asked of it: the passages that are drawn, and the questions and judgements of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from embassay.data import open_dataset
from embassay.data.judged_runs import read_qrels
from embassay.errors import UsageError
from embassay.protocols.choose.model_questions import cell_options
from embassay.protocols.choose.options import ChoiceOptions
from embassay.protocols.choose.signals import Probe, probe
from embassay.randomness import generator


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


def probed(data: Library, options: ChoiceOptions, seed: int) -> Drawn:
    """The passages that are drawn, all that are judged among them."""
    return _probed(data, cell_options(options, ""), seed)


@lru_cache(maxsize=4)
def _probed(data: Library, options: ChoiceOptions, seed: int) -> Drawn:
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
    path = labels_at(options.labels) if options.labels else Path()
    if options.labels:
        frame = read_qrels(path).frame
        for query, doc, value in frame.select("query", "doc", "value").iter_rows():
            grade = qrels.setdefault(query, {}).setdefault(doc, float(value))
            if grade != float(value):
                raise UsageError(
                    f"{options.labels} judges {doc!r} twice for {query!r}: {grade:g} and {float(value):g}.",
                    mend="Keep one of them: `embassay hume serve --adjudicator` is for judges who disagree.",
                )
    own = path / "queries.jsonl"
    if options.queries or (options.labels and own.is_file()):
        loaded = open_dataset(options.queries or str(own)).load("documents").data
        queries = dict(zip(loaded.ids, loaded.texts, strict=True))
        if qrels and not qrels.keys() & queries.keys():
            raise UsageError(
                f"No judged question is in {options.queries or own}, which has no {min(qrels)!r} for example.",
                mend="query_id of the judgements must be the id of the questions.",
            )
        return Asked(queries, qrels)
    if qrels and not any(" " in query for query in qrels):
        raise UsageError(
            f"{options.labels} names questions by ids such as {min(qrels)!r}, and their texts are nowhere.",
            mend="Give the questions with --queries FILE, or judgements whose column query has their texts.",
        )
    return Asked({query: query for query in qrels}, qrels)


def labels_at(name: str) -> Path:
    """Where judgements are read: of a run of `rag golden`, or of a file that it exported, the folder whose judgements
    are gains, for the lowest of its grades, 1, is that of passages which are not relevant."""
    path = Path(name).expanduser()
    for export in (path / "export", path if path.is_dir() else path.parent):
        if (export / "golden.jsonl").is_file() and (export / "beir").is_dir():
            return export / "beir"
    return path
