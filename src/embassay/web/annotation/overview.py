"""The routes and the page of a study's owner: progress, agreement, remarks, links, and all answers as a file."""

from __future__ import annotations

import json
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from embassay.protocols.hume.exchange.export import format_annotations_as_csv, format_annotations_as_jsonl
from embassay.protocols.hume.store import (
    Annotator,
    SavedAnswer,
    SharedBrowserExposure,
    describe_shared_browser_exposures,
    stored_annotations,
)
from embassay.protocols.hume.study import (
    Annotation,
    AnnotationRow,
    Family,
    StudyItem,
    StudyTask,
    convert_value_for_scoring,
)
from embassay.protocols.kernel import tables as numbers
from embassay.runs.folder import format_value_as_json
from embassay.web.annotation.passages import TASK
from embassay.web.annotation.service import (
    LinkGatekeeper,
    RequestRefusal,
    StudyService,
    make_browser_name,
    make_distinct_task_titles,
    read_browser_cookie_id,
    set_browser_name_cookie,
)

if TYPE_CHECKING:
    from embassay.protocols.calibration.probability import Calibration, SamenessProbability
    from embassay.protocols.hume.scoring import PeopleAgreement


class OwnerRoutes:
    """What is behind `/o/TOKEN/`."""

    def __init__(self, service: StudyService, door: LinkGatekeeper) -> None:
        self._service, self._door = service, door

    def build_router(self) -> APIRouter:
        """All of them."""
        routes = APIRouter(prefix="/o/{token}")
        routes.get("")(self.redirect_to_full_link)
        routes.get("/")(self.page)
        routes.get("/annotations.csv")(self.send_answers_as_csv)
        routes.get("/annotations.jsonl")(self.send_answers_as_jsonl)
        return routes

    def redirect_to_full_link(self, request: Request, token: str) -> Response:
        """Somebody lost the last stroke of their link."""
        self._check_owner_link(request, token)
        return RedirectResponse(f"{token}/", 308)

    def page(self, request: Request, token: str, show: bool = False) -> HTMLResponse:
        """Progress, agreement, remarks and links; to a browser that annotates too, only what it `show`s on purpose."""
        self._check_owner_link(request, token)
        state, others = self._build_overview(), self._list_annotators_who_answered()
        browsers, browser = (
            self._service.open_browser_activity_log,
            read_browser_cookie_id(request) or make_browser_name(),
        )
        writers = () if show else browsers.list_writers_in_browser(browser)
        held_back = writers if set(others) - set(writers) else ()
        if not held_back:
            browsers.note_answers_shown(browser, others)
        answer = HTMLResponse(
            render_owner_page(
                self._service,
                state,
                base=self._find_base_url(request),
                writers=held_back,
                exposures=browsers.exposures(),
            )
        )
        set_browser_name_cookie(request, answer, browser)
        return answer

    def send_answers_as_csv(self, request: Request, token: str, exposed: bool = False) -> Response:
        """Send all answers as CSV."""
        return self._send_annotations_file(request, token, exposed, "csv")

    def send_answers_as_jsonl(self, request: Request, token: str, exposed: bool = False) -> Response:
        """Send all answers as JSONL."""
        return self._send_annotations_file(request, token, exposed, "jsonl")

    def _send_annotations_file(self, request: Request, token: str, exposed: bool, kind: str) -> Response:
        text = format_annotations_file(self._list_exportable_annotations(request, token, exposed), kind)
        headers = {"content-disposition": f'attachment; filename="annotations.{kind}"'}
        return Response(text, headers=headers, media_type=KINDS[kind][1])

    def _list_exportable_annotations(self, request: Request, token: str, exposed: bool) -> tuple[Annotation, ...]:
        self._check_owner_link(request, token)
        exposures = self._service.open_browser_activity_log.exposures()
        if exposures and not exposed:
            raise RequestRefusal(
                409,
                f"{describe_shared_browser_exposures(exposures)} Add ?exposed=true to export them anyway, and report "
                "it wherever you use them.",
            )
        self._service.open_browser_activity_log.note_answers_shown(
            read_browser_cookie_id(request), self._list_annotators_who_answered()
        )
        return stored_annotations(self._service.store)

    def _check_owner_link(self, request: Request, token: str) -> None:
        self._door.find_holder_of_link_or_refuse("owner", token, request.client.host if request.client else None)

    def _build_overview(self) -> StudyOverview:
        service = self._service
        store = service.store
        return make_study_overview(
            service.folder.study.tasks,
            self._map_tasks_to_asked_items(),
            store.annotators(),
            store.list_all_answers(),
            store.finished(),
        )

    def _map_tasks_to_asked_items(self) -> Mapping[str, Sequence[StudyItem]]:
        """The items of every task; of a study until decided those that were asked for so far."""
        service = self._service
        if service.grading is None:
            return service.items_by_task
        return {TASK: [service.items[item] for item in service.grading.list_asked_passages()]}

    def _list_annotators_who_answered(self) -> tuple[str, ...]:
        answers = self._service.store.list_all_answers()
        return tuple(
            name for name, by_item in answers.items() if any(not answer.is_taken_back for answer in by_item.values())
        )

    def _find_base_url(self, request: Request) -> str:
        return self._service.options.public_url or str(request.base_url).rstrip("/")


COEFFICIENTS = {"fleiss_kappa": "Fleiss’ kappa", "ari": "adjusted Rand index", "spearman": "Spearman’s ρ"}
_MOST_REMARKS = 300
FEWEST = 10
"""Items below which a value is shown in grey and not called anything in a sentence."""


def render_owner_page(
    service: StudyService,
    found: StudyOverview,
    *,
    base: str,
    writers: Sequence[str],
    exposures: Sequence[SharedBrowserExposure],
) -> str:
    """The page as HTML. `base` goes before the links; `writers` are those for whom this browser answered: what others
    answered is held back from it."""
    study = service.folder.study
    decision = None if service.grading is None else service.grading.update_labelling_study_state()[1]
    odd: tuple[PeopleSystemContradiction, ...] = ()
    if service.calibration is not None and not writers:
        tasks, answers = study.tasks, service.store.list_all_answers()
        odd = find_pairs_contradicting_system(service.calibration, service.items_by_task, tasks, answers)
    return render_template(
        "owner/owner.html", study=study, found=found,
        verdict=decision.verdict if decision else say_study_progress(found),
        agreed=say_people_agreement(found), decision=decision, doubts=odd, calibration=service.calibration,
        links=[
            (annotator, base + service.annotator_link(annotator.id))
            for annotator in (*found.annotators, *service.store.list_adjudicators())
        ],
        writers=writers, adjudication=count_adjudicator_decisions(service, found),
        exposures=exposures, at=f"{datetime.now(UTC):%H:%M:%S}", coefficients=COEFFICIENTS, numbers=numbers,
        when=format_time, width=format_progress_bar_width, most=_MOST_REMARKS, fewest=FEWEST
    )  # fmt: skip


SAME_FROM = 4.0
"""The grade of 0 to 5 from which on two texts are said to mean the same, where a calibration was made of labels."""
MOST_DOUBTS = 50


@dataclass(frozen=True)
class PeopleSystemContradiction:
    """A pair of which people say one thing and a calibrated system is sure of the other: the mean of the answers, and
    the probability that the two mean the same."""

    item_id: str
    texts: tuple[str, str]
    answers: int
    mean: float
    probability: SamenessProbability


def find_pairs_contradicting_system(
    calibration: Calibration, items: Mapping[str, Sequence[StudyItem]], tasks: Sequence[StudyTask], answers: AnswersBy
) -> tuple[PeopleSystemContradiction, ...]:
    """The pairs that are worth another look, the surest first: the interval of the probability lies on one side of a
    half, and people's mean on the other side of the grade from which on two texts mean the same."""
    cut = SAME_FROM if calibration.same_from is None else calibration.same_from
    pairs = {
        item.id: item
        for task in tasks
        if task.family == "sts"
        for item in items[task.name]
        if {"text1", "text2"} <= item.payload.keys()
    }
    marks: dict[str, list[float]] = {}
    for by_item in answers.values():
        for key, answer in by_item.items():
            if key in pairs and answer.has_scorable_value:
                marks.setdefault(key, []).append(float(answer.value))
    if not marks:
        return ()
    first, second = ([str(pairs[key].payload[name]) for key in marks] for name in ("text1", "text2"))
    odd = []
    for key, likely in zip(marks, calibration.probability(first, second), strict=True):
        mean = statistics.fmean(marks[key])
        low, high = likely.ends
        if (low > 0.5 and mean < cut) or (high < 0.5 and mean >= cut):
            texts = (_cut_to_excerpt(pairs[key].payload["text1"]), _cut_to_excerpt(pairs[key].payload["text2"]))
            odd.append(PeopleSystemContradiction(key, texts, len(marks[key]), mean, likely))
    return tuple(sorted(odd, key=lambda doubt: -abs(doubt.probability.point - 0.5))[:MOST_DOUBTS])


@dataclass(frozen=True)
class AdjudicatorDecisionCount:
    """What one adjudicator has decided of the `disputed` items of a task, and what there are of them."""

    adjudicator: Annotator
    task: AnnotationTaskOverview
    disputed: int
    decided: int


def count_adjudicator_decisions(service: StudyService, found: StudyOverview) -> tuple[AdjudicatorDecisionCount, ...]:
    """How far adjudicators are, by adjudicator and task; empty where there are none."""
    people = service.store.list_adjudicators()
    if not people:
        return ()
    disputes, decided = (
        service.open_disputes_for_adjudicators.disputes(),
        service.open_disputes_for_adjudicators.count_decided_items_by_adjudicator(),
    )
    return tuple(
        AdjudicatorDecisionCount(
            person, task, len(disputes[task.task.name]), decided.get(person.id, {}).get(task.task.name, 0)
        )
        for person in people
        for task in found.tasks
    )


def say_study_progress(found: StudyOverview) -> str:
    """How far the study is, in a sentence."""
    if not found.decided:
        return f"No answers yet: 0 of {found.total_answers_wanted:,}"
    if found.done and len(found.done) == len(found.annotators):
        return "Everybody has finished" if len(found.done) > 1 else f"{found.done[0].id} has finished"
    share = numbers.format_percent(found.decided / found.total_answers_wanted)
    return f"{share} of the answers are in: {found.decided:,} of {found.total_answers_wanted:,}"


def say_people_agreement(found: StudyOverview) -> str:
    """How well people agree, in a sentence, on tasks of which enough items were answered twice to say so."""
    judged = [task for task in found.tasks if not task.agreement.reason and task.agreement.items >= FEWEST]
    if not judged:
        return f"Agreement is described here once two people have answered the same {FEWEST} items of a task."
    words = ", ".join(f"{task_overview.title} – {task_overview.agreement.band}" for task_overview in judged)
    return f"Agreement so far: {words}."


def format_time(at: str | None) -> str:
    """A time of the store as people read it.

    >>> format_time("2026-11-21T22:36:30.082Z"), format_time(None)
    ('21 Nov 2026, 22:36 UTC', '–')
    """
    if at is None:
        return numbers.NONE
    moment = datetime.fromisoformat(at)
    return f"{moment.day} {moment:%b %Y, %H:%M} UTC"


def format_progress_bar_width(progress: AnnotatorProgressOnTask) -> str:
    """How much of a bar is full."""
    return f"{100 * progress.decided / progress.items:.2f}%" if progress.items else "0%"


AnswersBy = Mapping[str, Mapping[str, SavedAnswer]]
_EXCERPT = 160


@dataclass(frozen=True)
class AnnotatorProgressOnTask:
    """How far one annotator is with one task. `complete` answers have a value; of `decided` ones the rest could not be
    judged. `median_seconds` is over decided items, None before the first."""

    annotator: Annotator
    task: str
    items: int
    decided: int
    complete: int
    flagged: int
    median_seconds: float | None
    finished_at: str | None


@dataclass(frozen=True)
class AnnotationTaskOverview:
    """A task under a title that tells it from the others, everybody's progress, and the agreement on the items that two
    or more have answered, with its 95% interval over items where it has one; `left_out` of it are those who have
    answered too few (`who_counts`)."""

    task: StudyTask
    title: str
    items: int
    progress: tuple[AnnotatorProgressOnTask, ...]
    agreement: PeopleAgreement
    interval: tuple[float, float] | None
    left_out: tuple[str, ...]


@dataclass(frozen=True)
class AnnotatorRemark:
    """A flag or a comment, with the beginning of the item it is about."""

    annotator: Annotator
    task: str
    item_id: str
    excerpt: str
    flag: str
    comment: str
    saved_at: str


@dataclass(frozen=True)
class StudyOverview:
    """The overview of a study. `last_saved_at` is None before the first answer."""

    annotators: tuple[Annotator, ...]
    tasks: tuple[AnnotationTaskOverview, ...]
    remarks: tuple[AnnotatorRemark, ...]
    last_saved_at: str | None

    @property
    def total_answers_wanted(self) -> int:
        """How many answers there are when all is done."""
        return sum(progress.items for task in self.tasks for progress in task.progress)

    @property
    def decided(self) -> int:
        """How many answers are decided so far."""
        return sum(progress.decided for task in self.tasks for progress in task.progress)

    @property
    def done(self) -> tuple[Annotator, ...]:
        """The annotators who have finished every task."""
        return tuple(
            annotator for annotator in self.annotators
            if all(p.finished_at for task in self.tasks for p in task.progress if p.annotator.id == annotator.id)
        )  # fmt: skip


def make_study_overview(
    tasks: Sequence[StudyTask],
    items: Mapping[str, Sequence[StudyItem]],
    annotators: Sequence[Annotator],
    answers: AnswersBy,
    finished: Mapping[str, Mapping[str, str]],
) -> StudyOverview:
    """The overview of a study: its tasks, their items by task, and what the store holds. No gold is needed."""
    titles = make_distinct_task_titles(tasks)
    saved = [answer.saved_at for by_item in answers.values() for answer in by_item.values()]
    return StudyOverview(
        tuple(annotators),
        tuple(
            _make_study_task_overview(task, titles[task.name], items[task.name], annotators, answers, finished)
            for task in tasks
        ),
        tuple(_list_remarks_latest_first(items, annotators, answers)),
        max(saved, default=None),
    )


def _make_study_task_overview(
    task: StudyTask,
    title: str,
    items: Sequence[StudyItem],
    annotators: Sequence[Annotator],
    answers: AnswersBy,
    finished: Mapping[str, Mapping[str, str]],
) -> AnnotationTaskOverview:
    progress = []
    for annotator in annotators:
        by_item = answers.get(annotator.id, {})
        answered = [by_item[item.id] for item in items if item.id in by_item]
        decided = [answer for answer in answered if answer.is_annotator_done_with_item]
        times = [answer.seconds for answer in decided if answer.seconds]
        progress.append(
            AnnotatorProgressOnTask(
                annotator, task.name, len(items), len(decided), sum(answer.has_scorable_value for answer in answered),
                sum(bool(answer.flag) for answer in answered), statistics.median(times) if times else None,
                finished.get(annotator.id, {}).get(task.name),
            )
        )  # fmt: skip
    return AnnotationTaskOverview(
        task, title, len(items), tuple(progress), *_compute_task_agreement_and_interval(task, items, answers)
    )


def _compute_task_agreement_and_interval(
    task: StudyTask, items: Sequence[StudyItem], answers: AnswersBy
) -> tuple[PeopleAgreement, tuple[float, float] | None, tuple[str, ...]]:
    # The numeric libraries wait for the first look: a server that was killed is up again sooner.
    from embassay.protocols.hume.scoring import keep_annotators_by_coverage, people_agreement

    read: dict[str, dict[str, Any]] = {}
    for annotator in sorted(answers):
        by_item = answers[annotator]
        read[annotator] = {
            item.id: _convert_answer_for_scoring(task, item, by_item[item.id].value)
            for item in items
            if item.id in by_item and by_item[item.id].has_scorable_value
        }
    counted = keep_annotators_by_coverage(read)
    few = tuple(name for name, values in read.items() if values and name not in counted)
    agreement = people_agreement(task.family, counted)
    interval = (
        None
        if agreement.reason
        else _agreement_interval(task.family, format_value_as_json(counted), agreement.coefficient)
    )
    return agreement, interval, few


@lru_cache(maxsize=256)
def _agreement_interval(family: Family, answers: str, coefficient: str) -> tuple[float, float] | None:
    """The page is asked for every few seconds, and an interval of hundreds of answers takes half a second."""
    from embassay.protocols.hume.resampling import agreement_intervals

    interval = agreement_intervals(family, json.loads(answers))[coefficient]
    return None if interval.low is None else interval.ends


def _convert_answer_for_scoring(task: StudyTask, item: StudyItem, value: Any) -> Any:
    like = (0,) * len(item.payload.get("documents", ())) if task.family == "reranking" else None
    return convert_value_for_scoring(task.spec, value, f"The answer to {item.id}", like=like)


def _list_remarks_latest_first(
    items: Mapping[str, Sequence[StudyItem]], annotators: Sequence[Annotator], answers: AnswersBy
) -> list[AnnotatorRemark]:
    """The latest first."""
    remarks = [
        AnnotatorRemark(annotator, task, item.id, item_excerpt(item), answer.flag, answer.comment, answer.saved_at)
        for annotator in annotators
        for task, of_task in items.items()
        for item in of_task
        if (answer := answers.get(annotator.id, {}).get(item.id)) is not None and (answer.flag or answer.comment)
    ]
    return sorted(remarks, key=lambda remark: (remark.saved_at, remark.annotator.id, remark.item_id), reverse=True)


def item_excerpt(item: StudyItem) -> str:
    """The beginning of what an item shows first: its text, its query or the first of its two texts."""
    shown = (item.payload.get(name) for name in ("text", "query", "text1"))
    return _cut_to_excerpt(next((text for text in shown if text), ""))


def _cut_to_excerpt(shown: Any) -> str:
    text = " ".join(str(shown).split())
    return text if len(text) <= _EXCERPT else text[:_EXCERPT].rstrip() + " …"


KINDS = {"csv": (format_annotations_as_csv, "text/csv"), "jsonl": (format_annotations_as_jsonl, "application/jsonl")}
"""How a file is written, and what it is called in an answer."""


def format_annotations_file(annotations: Sequence[Annotation], kind: str) -> str:
    """The text of the file."""
    write, _ = KINDS[kind]
    return write([_annotation_row(annotation) for annotation in annotations])


def _annotation_row(annotation: Annotation) -> AnnotationRow:
    value = list(annotation.value) if isinstance(annotation.value, tuple) else annotation.value
    return AnnotationRow(
        item_id=annotation.item_id,
        annotator_id=annotation.annotator_id,
        value=value,
        ts=annotation.ts,
        seconds=annotation.seconds,
        kind=annotation.kind,
        flag=annotation.flag,
        comment=annotation.comment,
    )


HERE = Path(__file__).parent
OWNER_STATIC = HERE / "owner" / "static"


def render_template(template: str, **values: Any) -> str:
    """A template as HTML."""
    return _template_environment().get_template(template).render(**values)


@lru_cache(maxsize=1)
def _template_environment() -> Environment:
    return Environment(
        loader=FileSystemLoader(HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True
    )  # fmt: skip
