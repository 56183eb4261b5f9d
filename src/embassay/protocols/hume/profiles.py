"""What annotators say of themselves, where a study asks for it: its questions, who said what, and scores by group.

A study names what it asks (`StudyFile.profile`); nothing else is asked, kept or taken in, and every question may be
left open. What was said lies beside the answers, in the store or in `profiles.jsonl`, and in no export that does not
ask for it. Groups of few people are withheld: their mean would tell of one person.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import BaseModel, ConfigDict

from embassay.errors import DataError
from embassay.protocols.hume.options import StudyRequest
from embassay.protocols.hume.record import AnnotatorScore, DatasetLanguageRecord
from embassay.protocols.hume.resource import language_name
from embassay.protocols.hume.store import has_answer_store, open_answer_store
from embassay.protocols.hume.study import Question, StudyFile, StudyFolder, read_jsonl_rows
from embassay.protocols.hume.tables import OF_PAIR
from embassay.protocols.kernel.tables import ColumnTable, interval_columns, text, whole_number_column
from embassay.runs.folder import write_json_lines
from embassay.stats import Estimate
from embassay.stats.intervals import t_quantile

FILE = "profiles.jsonl"
UNSAID = "not said"
Choices = tuple[tuple[str, str], ...]
"""Stored value and words of each answer."""
Profiles = Mapping[str, Mapping[str, str]]
"""Answers by annotator and the key of the question."""
_CHOICES: Mapping[Question, Choices] = {
    "language": (
        ("native", "It is my first language"), ("near-native", "Nearly as well as my first language"),
        ("good", "Well, but I sometimes look up a word"), ("basic", "With effort"),
    ),
    "expertise": (
        ("expert", "I do research on language or language technology"),
        ("practitioner", "I work with language technology or annotate for a living"),
        ("some", "I have annotated texts before"), ("none", "None of these"),
    ),
    "age": tuple(
        (band, band)
        for band in ("under 18", "18–24", "25–34", "35–44", "45–54", "55–64", "65 or over")
    ),
    "gender": (("woman", "Woman"), ("man", "Man"), ("another", "Another"))
}  # fmt: skip
_WORDS: Mapping[Question, str] = {
    "expertise": "Which describes you best?", "age": "How old are you?", "gender": "What is your gender?"
}  # fmt: skip
REFUSED = ("undisclosed", "I would rather not say")


@dataclass(frozen=True)
class ProfileQuestion:
    """A question as it is put: of language one for each language of the study, with its code in the `key`."""

    key: str
    words: str
    choices: Choices


class AnnotatorProfileRow(BaseModel):
    """A line of `profiles.jsonl`."""

    model_config = ConfigDict(extra="forbid", frozen=True)
    annotator_id: str
    question: str
    answer: str


def list_annotator_profile_questions(study: StudyFile) -> tuple[ProfileQuestion, ...]:
    """The questions of a study, in its order."""
    return tuple(
        field for question in dict.fromkeys(study.profile) for field in _expand_profile_question(question, study)
    )


def _expand_profile_question(question: Question, study: StudyFile) -> Iterator[ProfileQuestion]:
    choices = (*_CHOICES[question], REFUSED)
    if question != "language":
        yield ProfileQuestion(question, _WORDS[question], choices)
        return
    for lang in dict.fromkeys(task.lang for task in study.tasks):
        yield ProfileQuestion(f"language:{lang}", f"How well do you read {language_name(lang)}?", choices)


def check_annotator_profile_answers(study: StudyFile, said: Mapping[str, Any]) -> dict[str, str]:
    """Check what somebody answered to the profile questions; the answers by key.

    Raises DataError for what the study does not ask, and for an answer that it does not offer.
    """
    choices = {field.key: {value for value, _ in field.choices} for field in list_annotator_profile_questions(study)}
    for key, answer in said.items():
        if key not in choices:
            raise DataError(
                f"The study does not ask about {key!r}.", mend=f"It asks about {', '.join(choices) or 'nothing'}."
            )
        if answer and answer not in choices[key]:
            raise DataError(
                f"{answer!r} is not a valid answer to {key!r}.", mend=f"Use one of {', '.join(choices[key])}."
            )
    return {key: str(answer or "") for key, answer in said.items()}


def read_annotator_profiles(folder: StudyFolder) -> dict[str, dict[str, str]]:
    """What the annotators of a study said, in its file and its store; empty where it asks nothing.

    Raises DataError for a line that is not an answer to the study's questions.
    """
    if not folder.study.profile:
        return {}
    profiles = read_profiles_file(folder)
    if has_answer_store(folder):
        store = open_answer_store(folder, read_only=True)
        try:
            stored = store.list_profile_answers()
        finally:
            store.close()
        for annotator, profile in stored.items():
            profiles.setdefault(annotator, {}).update(check_annotator_profile_answers(folder.study, profile))
    return profiles


def read_profiles_file(folder: StudyFolder) -> dict[str, dict[str, str]]:
    """Read the answers of `profiles.jsonl`; of two answers to a question the last counts."""
    path, profiles = folder.path / FILE, dict[str, dict[str, str]]()
    for line, row in read_jsonl_rows(path, AnnotatorProfileRow) if path.is_file() else ():
        try:
            profile = check_annotator_profile_answers(folder.study, {row.question: row.answer})
        except DataError as error:
            raise DataError(error.what, path=path, line=line, mend=error.mend) from None
        profiles.setdefault(row.annotator_id, {}).update(profile)
    return profiles


def write_annotator_profiles(path: Path, profiles: Profiles) -> Path:
    """Write `profiles.jsonl` of the study in `path`, in one step."""
    rows = (
        {"annotator_id": annotator, "question": question, "answer": answer}
        for annotator in sorted(profiles)
        for question, answer in sorted(profiles[annotator].items())
    )
    write_json_lines(path / FILE, rows)
    return path / FILE


class AnnotatorProfileGroup(NamedTuple):
    """The people of a pair who gave the same answer to a question; of a withheld group the score has a reason alone."""

    pair: DatasetLanguageRecord
    question: str
    answer: str
    people: Sequence[AnnotatorScore]
    score: Estimate


def scores_by_profile_table(
    study: StudyFile,
    pairs: Iterable[DatasetLanguageRecord],
    profiles: Profiles,
    smallest: int = StudyRequest.smallest_group,
) -> ColumnTable:
    """Table `hume_profiles`: by pair, question and answer, how many people and answers there are, and the mean of
    these people's scores with Student's interval over people.

    Groups of fewer than `smallest` people are one row without a score. Where that would be a single group, which the
    others and the total tell of, the next smallest is withheld with it.
    """
    questions = list_annotator_profile_questions(study)
    # Behind the colon of a key is the language that the question is about.
    groups = [
        group
        for pair in pairs
        for asked in questions
        if asked.key.partition(":")[2] in ("", pair.lang)
        for group in _group_annotators_by_profile(pair, asked, profiles, smallest)
    ]
    return ColumnTable.of(
        "hume_profiles", "HUME: annotators by what they said about themselves", groups, *OF_PAIR, text("question"),
        text("group", "answer"), whole_number_column("annotators", lambda group: len(group.people)),
        whole_number_column("answers", lambda group: sum(annotator.items for annotator in group.people)),
        *interval_columns("score", ("score", "low", "high")), text("reason", "score.reason"),
        note="Score is the mean of the annotators' scores; low and high are 95% Student's t intervals over annotators. "
        f"Groups of fewer than {smallest} people are merged and withheld.",
    )  # fmt: skip


def _group_annotators_by_profile(
    pair: DatasetLanguageRecord, asked: ProfileQuestion, profiles: Profiles, smallest: int
) -> Iterator[AnnotatorProfileGroup]:
    order = [*(value for value, _ in asked.choices if value != REFUSED[0]), UNSAID]
    groups: dict[str, list[AnnotatorScore]] = {value: [] for value in order}
    for annotator in pair.annotators:
        said = profiles.get(annotator.id, {}).get(asked.key, "")
        groups[said if said in groups else UNSAID].append(annotator)
    groups = {value: people for value, people in groups.items() if people}
    hidden = find_groups_too_small_to_show({value: len(people) for value, people in groups.items()}, smallest)
    for value, people in groups.items():
        if value not in hidden:
            score = _estimate_mean_over_annotators([annotator.score for annotator in people])
            yield AnnotatorProfileGroup(pair, asked.key, value, people, score)
    if hidden:
        people = [annotator for value in hidden for annotator in groups[value]]
        reason = f"groups of fewer than {smallest} people, and groups that would reveal them"
        yield AnnotatorProfileGroup(pair, asked.key, "withheld", people, Estimate(value=None, reason=reason))


def find_groups_too_small_to_show(sizes: Mapping[str, int], smallest: int) -> tuple[str, ...]:
    """The groups whose scores nobody is told: those too small, and of a single one also the next smallest.

    >>> (find_groups_too_small_to_show({"native": 9, "good": 6, "basic": 2}, 5),
    ... find_groups_too_small_to_show({"native": 9, "good": 6}, 5))
    (('good', 'basic'), ())
    """
    small = {name for name, n in sizes.items() if n < smallest}
    others = sorted((name for name in sizes if name not in small), key=lambda name: sizes[name])
    if len(small) == 1 and others:
        small.add(others[0])
    return tuple(name for name in sizes if name in small)


def _estimate_mean_over_annotators(scores: Sequence[float]) -> Estimate:
    # fsum gives the same sum in any order of the scores.
    mean, n = math.fsum(scores) / len(scores), len(scores)
    if n < 2:
        return Estimate(value=mean, reason="no interval over annotators because there is only one")
    half = t_quantile(0.975, n - 1) * statistics.stdev(scores) / math.sqrt(n)
    return Estimate(value=mean, low=mean - half, high=mean + half)
