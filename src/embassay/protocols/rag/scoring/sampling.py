"""What people graded beside a judge: which queries are whole, what nobody graded, and whether it looks drawn at random.

A correction takes that people's units are a random sample of all. Nobody can prove that from grades, but what was not
drawn often shows: the first thirty questions of a file, the passages at the top, what the judge by_query relevant.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from embassay.data.judged_runs import RunOrQrelsEntries
from embassay.protocols.kernel.tables import ColumnTable, format_noun_count, text
from embassay.protocols.rag.decision.population import NOT_FOUND, Key, pool_first_passages
from embassay.randomness import make_seeded_generator
from embassay.stats.few_labels import FEWEST, FEWEST_REFUSED, MOST_REFUSED
from embassay.stats.intervals import t_quantile

if TYPE_CHECKING:
    from embassay.protocols.rag.scoring.inputs import ScoringInputs

Floats = NDArray[np.float64]
Grades = Mapping[Key, int]

SUSPICIOUS = 0.002
"""So small a p-value of a sample is told: there are some four tests, and one of a hundred random ones is suspected."""
DRIFTING = 0.01
"""And so small a one of a judge."""
FEWEST_TESTED = 8
"""Units below which no test finds anything."""
TO_GRADE = 30
"""Whole queries, or refused passages, that are proposed for people."""
TO_GRADE_TABLE = "rag_to_grade"
_SHOWN = 1_500
"""Characters of a passage that people are shown in a table."""


@dataclass(frozen=True)
class MissingCorrection:
    """The reason that a measure has no corrected value, and the mend."""

    reason: str
    mend: str


class PeopleAndJudgeGrades:
    """People's grades beside the judge's, of the same `runs`; queries in the order of the judge's grades, which is most
    often that of its work."""

    def __init__(self, people: Grades, judge: Grades, runs: Mapping[str, RunOrQrelsEntries], seed: int) -> None:
        self.people, self.judge, self.seed = people, judge, seed
        self.queries = list(dict.fromkeys(key[0] for key in judge))
        judged = set(self.queries)
        self.unasked = list(dict.fromkeys(key[0] for key in people if key[0] not in judged))
        self._runs = runs
        self._first: dict[int | None, dict[str, list[Key]]] = {}

    def first(self, cutoff: int | None) -> Mapping[str, Sequence[Key]]:
        """List the passages among the first `cutoff` (None: all) of any run, by query of the judge's."""
        if cutoff not in self._first:
            depth = max(len(run.frame) for run in self._runs.values()) if cutoff is None else cutoff
            by_query: dict[str, list[Key]] = {query: [] for query in self.queries}
            for key in pool_first_passages(self._runs, depth)[0]:
                if key[0] in by_query:
                    by_query[key[0]].append(key)
            self._first[cutoff] = by_query
        return self._first[cutoff]

    @cached_property
    def fully_graded_queries(self) -> list[str]:
        """The queries of which people graded all that the judge graded."""
        open_ = {key[0] for key in self.judge.keys() - self.people.keys()}
        return [query for query in self.queries if query not in open_]

    def ungraded(self, cutoff: int | None) -> tuple[int, int]:
        """Of the drawn queries: how many passages among the first of the runs people have not graded, of how many. What
        the judge refused is not asked for by its file, so it is easily left out."""
        first = self.first(cutoff)
        keys = [key for query in self.fully_graded_queries for key in first[query]]
        return sum(key not in self.people for key in keys), len(keys)

    def explain_missing_whole_query_correction(self, cutoff: int | None) -> MissingCorrection | None:
        """Explain why measures of whole queries have no corrected value; None where they can have one."""
        if (unasked := self._explain_queries_without_judge_grades()) is not None:
            return unasked
        if len(self.fully_graded_queries) < FEWEST:
            return MissingCorrection(
                f"people graded {self._describe_count_of_graded_passages()} "
                f"({len(self.fully_graded_queries)} queries completely)"
                ", but this measure needs completely graded queries",
                f"Draw {FEWEST} or more queries (preferably {TO_GRADE}) at random, and grade every passage that "
                f"the judge graded or that is among the first{_describe_cutoff(cutoff)} of each run",
            )
        missing, total = self.ungraded(cutoff)
        if missing > MOST_REFUSED * total:
            return MissingCorrection(
                f"people left {missing:,} of {total:,} passages among the first{_describe_cutoff(cutoff)} "
                "ungraded in the queries that they graded",
                "Grade them too: the judge has no grade for them either, and may refuse exactly the relevant passages",
            )
        return None

    def _describe_count_of_graded_passages(self) -> str:
        queries = {key[0] for key in self.people}
        return f"{format_noun_count(len(self.people), 'passage')} of {format_noun_count(len(queries), 'query')}"

    def _explain_queries_without_judge_grades(self) -> MissingCorrection | None:
        asked = {key[0] for key in self.people}
        if len(self.unasked) <= MOST_REFUSED * len(asked):
            return None
        return MissingCorrection(
            f"the judge graded nothing for {len(self.unasked):,} of {format_noun_count(len(asked), 'query')} "
            "that people graded",
            "Have the judge grade them, or remove them from people's grades",
        )

    def explain_no_passage_correction(self, used: Sequence[Key]) -> MissingCorrection | None:
        """Explain why a sum over the `used` passages has no corrected value; None if it can have one."""
        if (unasked := self._explain_queries_without_judge_grades()) is not None:
            return unasked
        refused = [key for key in used if key not in self.judge]
        known = sum(key in self.people for key in refused)
        if known >= min(FEWEST_REFUSED, len(refused)) or len(refused) <= MOST_REFUSED * len(used):
            return None
        return MissingCorrection(
            f"the judge graded {len(used) - len(refused):,} of {len(used):,} passages at the top of the runs, "
            f"and people graded {known} of the others",
            f"Grade {FEWEST_REFUSED} or more of the refused passages, drawn at random",
        )

    def list_passages_to_grade(self, cutoff: int | None, *, whole: bool) -> Iterator[tuple[str, str, str]]:
        """Query, document and reason of passages for people to grade: those of whole queries drawn at random, or what
        the judge refused. Taken from the top they are a random sample however many are graded."""
        rng, first = make_seeded_generator(self.seed, "to grade"), self.first(cutoff)
        if whole:
            graded = defaultdict(list)
            for key in self.judge:
                graded[key[0]].append(key)
            for place in rng.permutation(len(self.queries))[:TO_GRADE].tolist():
                query = self.queries[place]
                wanted = dict.fromkeys([*graded[query], *first[query]])
                yield from ((*key, "whole query") for key in wanted if key not in self.people)
            return
        refused = [key for query in self.queries for key in first[query] if key not in self.judge]
        for place in rng.permutation(len(refused))[:TO_GRADE].tolist():
            if refused[place] not in self.people:
                yield (*refused[place], "the judge has no grade")

    def build_grading_sheet(self, cutoff: int | None, inputs: ScoringInputs, *, whole: bool) -> ColumnTable:
        """The same as a table that people fill in and give back: with texts where they are known, a column for grades,
        and below it all that is graded already."""
        wanted = [(query, doc, None, why) for query, doc, why in self.list_passages_to_grade(cutoff, whole=whole)]
        graded = inputs.qrels.frame.select("query", "doc", "value").iter_rows()
        known = [(str(query), str(doc), f"{value:g}", "graded already") for query, doc, value in graded]
        return ColumnTable.of(
            TO_GRADE_TABLE, "Passages for people to grade", (*wanted, *known), text("query_id", itemgetter(0)),
            text("doc_id", itemgetter(1)), text("grade", itemgetter(2)), text("why", itemgetter(3)),
            text("question", lambda row: _put_on_one_line(inputs.questions.get(row[0], ""))),
            text("passage", lambda row: _shorten_passage(inputs.texts.get(row[1], ""))),
            note=("Fill in the grade column from the top, and finish each query: the order is random. Existing grades "
                "follow below, so you can pass the file as --qrels.")
        )  # fmt: skip

    def describe_value_of_grading_queries(self, cutoff: int | None, measure: str, spread: float) -> str:
        """How many passages whole queries have, and how far off at most a value by their grades would be, from the
        `spread` of the judge's values over queries; empty where there are too few queries, or no spread."""
        queries = [query for query, _, _ in self.list_passages_to_grade(cutoff, whole=True)]
        distinct = list(dict.fromkeys(queries))
        if len(distinct) < FEWEST or not np.isfinite(spread):
            return ""
        few = sum(query in distinct[:FEWEST] for query in queries)
        first, whole = (spread * t_quantile(0.975, n - 1) / n**0.5 for n in (FEWEST, len(distinct)))
        return (
            f"{FEWEST} queries ({few:,} passages) give {measure} within about {first:.2f}; {len(distinct)} queries "
            f"({len(queries):,} passages) give it within {whole:.2f} or less"
        )

    def warnings(self, cutoff: int | None) -> Iterator[str]:
        """Warn of what speaks against a random sample, and of a judge who does not stay the same."""
        if len(self.unasked) and self._explain_queries_without_judge_grades() is None:
            yield (
                f"The judge graded nothing for {format_noun_count(len(self.unasked), 'query')} that people "
                "graded (left out)."
            )
        yield from self._warn_of_nonrandom_sample(cutoff)
        yield from self._warn_of_judge_drift()

    def _warn_of_nonrandom_sample(self, cutoff: int | None) -> Iterator[str]:
        has_label = {key[0] for key in self.people}
        labelled = np.array([query in has_label for query in self.queries])
        # Drawn at random, people's queries would lie along the file as the others do.
        place = np.arange(len(labelled), dtype=np.float64)
        if are_different_samples(place[labelled], place[~labelled]):
            where = _format_counts_by_file_third(place[labelled], len(labelled))
            yield (
                "People's queries are not spread over the judge's file like random ones: "
                f"{where} of {labelled.sum():,} are in its first, second and last third. If the judge or the "
                "questions change along the file, the interval is invalid. Grade randomly drawn queries."
            )
        keys = list(self.judge)
        loose = [key for key in keys if key[0] in has_label]
        if len(self.fully_graded_queries) >= len(has_label) * 0.9:
            noun, grades = "queries", self._average_judge_grades_by_query()
            own, others = grades[labelled], grades[~labelled]
        else:
            noun, grades = "passages", np.array([self.judge[key] for key in loose], dtype=np.float64)
            graded = np.array([key in self.people for key in loose], dtype=bool)
            own, others = grades[graded], grades[~graded]
        if are_different_samples(own, others):
            yield (
                f"The judge's mean grade is {own.mean():.2f} for the {noun} that people graded and "
                f"{others.mean():.2f} for the others. People's {noun} are not a random sample, so the interval is "
                "invalid. Draw them at random."
            )
        yield from self._warn_of_top_ranked_sample(cutoff, has_label)

    def _warn_of_top_ranked_sample(self, cutoff: int | None, has_label: set[str]) -> Iterator[str]:
        keys, ranks, _ = pool_first_passages(self._runs, cutoff or TO_GRADE)
        best = np.where(ranks == NOT_FOUND, ranks.max(initial=1) + 1, ranks).min(axis=1).astype(np.float64)
        # What the judge refused is asked for by nothing, and so is graded less.
        rows = [row for row, key in enumerate(keys) if key[0] in has_label and key in self.judge]
        graded = np.array([keys[row] in self.people for row in rows], dtype=bool)
        own, others = best[rows][graded], best[rows][~graded]
        if are_different_samples(own, others):
            yield (
                f"The passages that people graded have a mean rank of {own.mean():.1f}, the others of the same "
                f"queries {others.mean():.1f}. They are not a random sample, so the interval is invalid. Draw "
                "them at random."
            )

    def _average_judge_grades_by_query(self) -> Floats:
        """Average the judge's grades of each query."""
        by_query: dict[str, list[int]] = defaultdict(list)
        for key, grade in self.judge.items():
            by_query[key[0]].append(grade)
        return np.array([np.mean(by_query[query]) for query in self.queries])

    def _warn_of_judge_drift(self) -> Iterator[str]:
        """Warn where the judge's distance from people changes along its file."""
        off: dict[str, list[int]] = defaultdict(list)
        for key in self.judge:
            if key in self.people:
                off[key[0]].append(self.judge[key] - self.people[key])
        place = [at for at, query in enumerate(self.queries) if query in off]
        means = np.array([np.mean(off[self.queries[at]]) for at in place])
        if len(place) < FEWEST_TESTED or len(np.unique(means)) < 2:
            return
        from scipy.stats import spearmanr

        if spearmanr(place, means).pvalue < DRIFTING:
            parts = np.array_split(means, 3)
            yield (
                f"The judge drifts: its grades differ from people's by {parts[0].mean():+.2f} on average in the first "
                f"third of its file and {parts[2].mean():+.2f} in the last. Grading randomly drawn queries still "
                "corrects for this; grading only the first queries does not."
            )


def are_different_samples(own: Floats, others: Floats) -> bool:
    """Say whether two samples are unlikely to be drawn from one (Kolmogorov and Smirnov)."""
    if min(len(own), len(others)) < 3 or len(own) + len(others) < FEWEST_TESTED:
        return False
    from scipy.stats import ks_2samp

    return bool(ks_2samp(own, others).pvalue < SUSPICIOUS)


def _format_counts_by_file_third(place: Floats, total: int) -> str:
    counts = np.bincount((place * 3 // total).astype(int), minlength=3)
    return f"{counts[0]:,}, {counts[1]:,} and {counts[2]:,}"


def _put_on_one_line(passage: str) -> str:
    return " ".join(passage.split())


def _shorten_passage(passage: str) -> str:
    line = _put_on_one_line(passage)
    return line if len(line) <= _SHOWN else f"{line[:_SHOWN]} ..."


def _describe_cutoff(cutoff: int | None) -> str:
    return "" if cutoff is None else f" {cutoff}"
