"""What the routes work on, and its server: a study without its gold, its answers, its links, and what is allowed.

What adjudicators see: the items of a study that people answered differently, with the answers and without names.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import socket
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from fastapi import Request, Response
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markupsafe import Markup

from embassay.errors import UsageError
from embassay.protocols.hume.adjudication import ItemToAdjudicate, list_disputed_items
from embassay.protocols.hume.collection import list_annotation_rows_of_store, read_annotation_files
from embassay.protocols.hume.links import OWNER, LinkHolder, StudyLinks, load_or_make_study_key
from embassay.protocols.hume.profiles import list_annotator_profile_questions
from embassay.protocols.hume.store import (
    Annotator,
    AnswerStore,
    BrowserAnswerAccessLog,
    Kind,
    Role,
    SavedAnswer,
    draw_annotator_item_order,
    open_answer_store,
)
from embassay.protocols.hume.study import AnnotationRow, StudyFile, StudyFolder, StudyItem, StudyTask, read_study
from embassay.runs.folder import digest_json
from embassay.web import server
from embassay.web.annotation.passages import PassageGrading, open_decision_study
from embassay.web.server import KeyedRateLimit, mask_client_address

if TYPE_CHECKING:
    from embassay.protocols.calibration.probability import Calibration


class ServedStudyDisputes:
    """The disputes of a study that is served: safe between threads, and made anew when somebody has answered since.

    Files of annotations are read once, at the first look; what is in the store is read each time.
    """

    def __init__(self, folder: StudyFolder, store: AnswerStore) -> None:
        self._folder, self._store, self._lock = folder, store, Lock()
        self._held: tuple[str, Mapping[str, tuple[ItemToAdjudicate, ...]]] | None = None

    @cached_property
    def _read_annotation_rows_of_files(self) -> Sequence[AnnotationRow]:
        return [row for rows in read_annotation_files(self._folder).values() for row in rows]

    def rows(self) -> list[AnnotationRow]:
        """Rows of everybody's answers, those of files first."""
        return [*self._read_annotation_rows_of_files, *list_annotation_rows_of_store(self._store)]

    def disputes(self) -> Mapping[str, tuple[ItemToAdjudicate, ...]]:
        """The disputes of every task by its name, the farthest apart first."""
        rows = self.rows()
        mark = digest_json([[row.annotator_id, row.item_id, row.value, row.flag, row.comment] for row in rows])
        with self._lock:
            if self._held is None or self._held[0] != mark:
                disputed = {
                    task.name: list_disputed_items(self._folder, task, rows) for task in self._folder.study.tasks
                }
                self._held = mark, disputed
            return self._held[1]

    def order(self, adjudicator: str, task: str) -> tuple[str, ...]:
        """The items of a task to decide, the farthest apart first; what was decided stays, also where the people have
        agreed since."""
        now = tuple(dispute.item for dispute in self.disputes()[task])
        ids = {item.id for item in self._folder.select_task_items(task)}
        answers = self._store.answers(adjudicator)
        before = tuple(
            item for item, answer in answers.items() if item in ids and not answer.is_taken_back and item not in now
        )
        return (*now, *before)

    def list_disputed_answers(self, task: StudyTask, item: str) -> dict[str, Any]:
        """What people answered to an item, for the page; empty where nobody disputes it any more."""
        every = self.disputes()[task.name]
        dispute = next((other for other in every if other.item == item), None)
        return {} if dispute is None else {"others": build_dispute_for_page(task, dispute, every)}

    def list_item_answerers(self, item: str) -> tuple[str, ...]:
        """Who answered an item: a browser that is shown it was shown theirs."""
        return tuple(sorted({row.annotator_id for row in self.rows() if row.item_id == item}))

    def count_decided_items_by_adjudicator(self) -> dict[str, dict[str, int]]:
        """How many items of each task every adjudicator has decided."""
        tasks = {item.id: item.task for item in self._folder.items}
        return {
            person.id: dict(
                Counter(tasks[item] for item, saved in answers.items() if saved.is_annotator_done_with_item)
            )
            for person, answers in self._list_decisions_by_adjudicator()
        }

    def _list_decisions_by_adjudicator(self) -> list[tuple[Any, Mapping[str, SavedAnswer]]]:
        decisions = self._store.list_adjudicator_decisions()
        return [(adjudicator, decisions.get(adjudicator.id, {})) for adjudicator in self._store.list_adjudicators()]


def build_dispute_for_page(
    task: StudyTask, dispute: ItemToAdjudicate, every: Sequence[ItemToAdjudicate]
) -> dict[str, Any]:
    """A dispute as the page reads it: how many people said what, by family; groups with the number of their texts."""
    values = [value for _, value in dispute.given]
    shown: dict[str, Any] = {
        "people": len(values), "refused": dispute.refused, "remarks": list(dispute.remarks),
        "simulated": dispute.simulated
    }  # fmt: skip
    if task.family == "reranking":
        return shown | {"marks": [sum(marks) for marks in zip(*values, strict=True)]}
    if task.family == "clustering":
        sizes = Counter(part for answer in every for part in answer.given)
        return shown | {
            "groups": [
                {"letter": letter, "group": value, "texts": sizes[letter, value]} for letter, value in dispute.given
            ]
        }
    counts = Counter(values)
    return shown | {"values": [{"value": value, "people": counts[value]} for value in dict.fromkeys(values)]}


@dataclass(frozen=True)
class RequestRateLimits:
    """How often somebody may ask, `burst` at once and then `per_second`: with a link, and from an address with wrong
    ones."""

    burst: int = 200
    per_second: float = 50.0
    wrong_burst: int = 20
    wrong_per_second: float = 0.2


@dataclass(frozen=True)
class StudyRequestRules:
    """`hosts` are the names the server answers to, without a port; empty: to any. `origins` are hosts with port that
    pages may come from beside the one that was asked, `public_url` is how people reach it, without a last stroke.
    `most_bytes` is the longest body, in `body_seconds` at most."""

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    public_url: str | None = None
    most_bytes: int = 64 * 1024
    body_seconds: float = 10.0
    rates: RequestRateLimits = RequestRateLimits()


@dataclass(frozen=True)
class StudyService:
    """A study that is served."""

    folder: StudyFolder
    store: AnswerStore
    links: StudyLinks
    options: StudyRequestRules = field(default_factory=StudyRequestRules)
    grading: PassageGrading | None = None
    """The study until decided that it is, if it is one."""
    calibration: Calibration | None = None
    """Of a system: answers that it did not expect are shown to the owner, and to nobody who annotates."""

    @cached_property
    def items(self) -> Mapping[str, StudyItem]:
        """Every item by its id."""
        return {item.id: item for item in self.folder.items}

    @cached_property
    def tasks(self) -> Mapping[str, StudyTask]:
        """Every task by its name."""
        return {task.name: task for task in self.folder.study.tasks}

    @cached_property
    def items_by_task(self) -> Mapping[str, tuple[StudyItem, ...]]:
        """The items of every task, in the order of the file."""
        return {name: self.folder.select_task_items(name) for name in self.tasks}

    @cached_property
    def open_disputes_for_adjudicators(self) -> ServedStudyDisputes:
        """What adjudicators decide."""
        return ServedStudyDisputes(self.folder, self.store)

    @cached_property
    def open_browser_activity_log(self) -> BrowserAnswerAccessLog:
        """The log of what browsers were shown and wrote."""
        return BrowserAnswerAccessLog(self.store.database)

    def order(self, annotator: str, task: str) -> tuple[str, ...]:
        """The ids of a task's items in this annotator's own order; for an adjudicator those to decide."""
        if self._is_adjudicator(annotator):
            return self.open_disputes_for_adjudicators.order(annotator, task)
        if self.grading is not None:
            return self.grading.order(annotator)
        return draw_annotator_item_order(
            self.folder.study.seed, annotator, task, (item.id for item in self.items_by_task[task])
        )

    def _is_adjudicator(self, annotator: str) -> bool:
        held = self.store.annotator(annotator)
        return held is not None and held.is_adjudicator

    def annotator_link(self, annotator: str, *, renew: bool = False) -> str:
        """The path of somebody's link."""
        return f"/a/{self.links.make(LinkHolder('annotator', annotator), renew=renew)}/"

    def owner_link(self, *, renew: bool = False) -> str:
        """The path of the owner's link."""
        return f"/o/{self.links.make(LinkHolder('owner', OWNER), renew=renew)}/"

    def close(self) -> None:
        """Let go of the store."""
        self.store.close()


def open_study_service(
    path: Path,
    annotators: Iterable[str] = (),
    simulated: Iterable[str] = (),
    *,
    adjudicators: Iterable[str] = (),
    database: str | None = None,
    options: StudyRequestRules | None = None,
    until_decided: bool = False,
    calibrated: Path | None = None,
) -> StudyService:
    """The study in the folder `path` ready to be served to `annotators`, to scripts that are `simulated` ones, to
    `adjudicators`, and to all who were let in before; one of passages to grade `until_decided`, if it is to be that.
    `calibrated` is a file of `embassay calibrate`, of pairs like the study's.

    Raises DataError for a folder without a study, UsageError for a database of another one, where nobody is let in, and
    for adjudicators of passages, which nobody answers twice.
    """
    adjudicators = tuple(adjudicators)
    if until_decided and adjudicators:
        raise UsageError(
            "Passages cannot be adjudicated, because each is graded only once.",
            mend="Omit either --adjudicator or --until-decided.",
        )
    folder = open_decision_study(path) if until_decided else read_study(path)
    calibration = None if calibrated is None else _open_system_calibration(calibrated)
    store = open_answer_store(folder, database)
    try:
        _add_annotators(store, ((annotators, "person"), (simulated, "simulated"), (adjudicators, "adjudicator")))
        links = StudyLinks(store.database, load_or_make_study_key(path))
    except OSError as error:
        store.close()
        raise UsageError(
            f"The key for the links cannot be stored in {path}: {error.strerror or error}.",
            mend="Serve the study from a writable folder.",
        ) from error
    except BaseException:
        # An interrupt must not leave the store locked either.
        store.close()
        raise
    grading = PassageGrading(path, store) if until_decided else None
    return StudyService(folder, store, links, options or StudyRequestRules(), grading, calibration)


def _open_system_calibration(path: Path) -> Calibration:
    from embassay.protocols.calibration.probability import calibration

    system = calibration(path)
    system.similarity(["a"], ["a"])  # A system that is another now is told of before anybody annotates.
    return system


def _add_annotators(store: AnswerStore, people: Iterable[tuple[Iterable[str], Kind]]) -> None:
    for names, kind in people:
        for name in names:
            store.add_annotator(name, kind)
    if not store.list_all_link_holders():
        raise UsageError("This study has no annotators yet.", mend="Add some: --annotator ann --annotator bob")


def serve_study(
    service: StudyService, listening: socket.socket, *, proxy_headers: bool, ready: Callable[[], None]
) -> None:
    """Serve a study until Ctrl-C or TERM; see `web.server.serve`. ModelError where the extra `web` is missing."""

    def make() -> Any:
        from embassay.web.annotation.app import make_annotation_app

        return make_annotation_app(service)

    server.serve_until_signal(make, listening, command="hume serve", proxy_headers=proxy_headers, ready=ready)


class LinkGatekeeper:
    """Lets holders of links in, and tells nobody else whether a link exists."""

    def __init__(self, links: StudyLinks, options: StudyRequestRules) -> None:
        self._links, self._origins = links, options.origins
        rates = options.rates
        self._own = KeyedRateLimit(rates.burst, rates.per_second)
        self._wrong = KeyedRateLimit(rates.wrong_burst, rates.wrong_per_second)

    def find_holder_of_link_or_refuse(self, role: Role, token: str, address: str | None) -> LinkHolder:
        """The holder of the link. Raises Refusal: 404 where there is none, 429 where too much was asked or guessed.

        An address that guessed too often learns nothing more of wrong links; a right one is let in from there, too, as
        many people may share the address with a guesser, and a link is too long to be guessed.
        """
        key = mask_client_address(address)
        mark = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        holder = self._links.find(token)
        if holder is None or holder.role != role:
            if self._wrong.try_use_rate_allowance(key):
                raise make_not_found_refusal()
            raise RequestRefusal(429, "Too many wrong links. Wait a minute.")
        if not self._own.try_use_rate_allowance(mark.hex()):
            raise RequestRefusal(429, "Too many requests at once. Wait a moment.")
        return holder

    def check_request_forgery(self, token: str, headers: Mapping[str, str]) -> None:
        """Raises Refusal for a change that another site, or a form of one, could have sent."""
        empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        # Without asking first, a browser sends forms and plain text to another site, but no JSON.
        if not empty and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json":
            raise RequestRefusal(415, "Send JSON.")
        # Old browsers do not send this header: of them the origin decides alone.
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise RequestRefusal(403, "This request did not come from the page.")
        origin = headers.get("origin")
        origins = (headers.get("host", "").lower(), *self._origins)
        if origin is not None and urlsplit(origin).netloc.lower() not in origins:
            raise RequestRefusal(403, "This request did not come from the page.")
        if not self._links.is_csrf_key(token, headers.get("x-csrf-token", "")):
            raise RequestRefusal(403, "The page is out of date. Reload it.")


COOKIE = "embassay_browser"
_NAME = re.compile(r"[0-9a-f]{32}")
_YEAR_SECONDS = 365 * 24 * 3600


def read_browser_cookie_id(request: Request) -> str:
    """The browser's name, empty where it has none."""
    name = request.cookies.get(COOKIE, "")
    return name if _NAME.fullmatch(name) else ""


def make_browser_name() -> str:
    """A name for a browser that has none."""
    return secrets.token_hex(16)


def set_browser_name_cookie(request: Request, answer: Response, name: str) -> None:
    """Let the browser keep its name."""
    # Lax: a link in a mail opens the page, and another site's form still brings no cookie.
    answer.set_cookie(
        COOKIE, name, max_age=_YEAR_SECONDS, httponly=True, samesite="lax", secure=request.scope["scheme"] == "https"
    )


class RequestRefusal(Exception):
    """A request that is refused with `status`; `more` are further fields of the answer."""

    def __init__(self, status: int, sentence: str, **more: Any) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.more = status, sentence, more

    @property
    def body(self) -> dict[str, Any]:
        """The body of the answer that is sent."""
        return {"error": self.sentence, **self.more}


def make_not_found_refusal() -> RequestRefusal:
    """The one answer for wrong links, unknown paths and what is somebody else's."""
    return RequestRefusal(404, "There is nothing here.")


RIGHT_TO_LEFT = frozenset({"ara", "arb", "heb", "fas", "pes", "urd", "yid", "div", "pus", "ckb", "snd", "uig"})
SETTINGS = {"single_keys": True, "advance": False, "theme": "system"}


def build_study_for_annotator(service: StudyService, annotator: Annotator) -> dict[str, Any]:
    """The study as one annotator meets it: no item's text is in it."""
    answers = service.store.answers(annotator.id)
    finished = service.store.finished().get(annotator.id, {})
    study = service.folder.study
    titles = make_distinct_task_titles(study.tasks)
    tasks = [
        build_task_for_page(
            task, titles[task.name], list(service.order(annotator.id, task.name)), task.name in finished
        )
        for task in study.tasks
    ]
    if annotator.is_adjudicator:
        # They have been told already, and see only what is to decide.
        tasks = [{**task, "practice": []} for task in tasks if task["items"]]
    return {
        "study": study.name,
        "annotator": {"name": annotator.name, "settings": {**SETTINGS, **annotator.settings}},
        "guidelines_version": study.guidelines_version,
        "tasks": tasks,
        **({"adjudicates": True} if annotator.is_adjudicator else build_profile_for_page(service, annotator)),
        "answers": {
            item: convert_saved_answer_for_page(answer) for item, answer in answers.items() if not answer.is_taken_back
        },
        "seq": service.store.find_last_change_number_of_annotator(annotator.id),
        **({} if service.grading is None else {"until_decided": service.grading.describe_grading_for_page()}),
    }


def build_profile_for_page(service: StudyService, annotator: Annotator) -> dict[str, Any]:
    """What the study asks of its annotators, and what this one has said; nothing where it asks nothing."""
    study = service.folder.study
    if not study.profile:
        return {}
    return {
        "about": {
            "asked": build_questions_for_page(study),
            "said": service.store.list_profile_answers().get(annotator.id, {}),
        }
    }


def build_questions_for_page(study: StudyFile) -> list[dict[str, Any]]:
    """The questions of a study as its pages put them."""
    return [
        {"key": question.key, "words": question.words, "choices": [list(choice) for choice in question.choices]}
        for question in list_annotator_profile_questions(study)
    ]


def make_distinct_task_titles(tasks: Sequence[StudyTask]) -> dict[str, str]:
    """The title of each task by its name. Where several have one title, such as that of their dataset, it has their
    names."""
    often = Counter(task.title for task in tasks)

    def format_task_title_with_name(task: StudyTask) -> str:
        return task.name if task.title in task.name else f"{task.title} ({task.name})"

    return {task.name: task.title if often[task.title] == 1 else format_task_title_with_name(task) for task in tasks}


def build_task_for_page(task: StudyTask, title: str, items: list[str], finished: bool) -> dict[str, Any]:
    """A task with its instructions and practice; of its source, nothing. `title` tells it from the others."""
    return {
        "name": task.name,
        "family": task.family,
        "lang": task.lang,
        "dir": "rtl" if task.lang in RIGHT_TO_LEFT else "ltr",
        "title": title,
        "question": task.question,
        "labels": [label.model_dump() for label in task.labels],
        "scale": task.scale.model_dump() if task.scale else None,
        "guidelines_html": str(convert_guidelines_to_html(task.guidelines)),
        "practice": [practice.model_dump() for practice in task.practice],
        "n": len(items),
        "items": items,
        "finished": finished,
        **({} if task.groups is None else {"groups": task.groups}),
    }


def build_item_for_page(item: StudyItem, others: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """An item as everybody sees it; for an adjudicator with what `others` answered."""
    return {"id": item.id, "task": item.task, "payload": {**item.payload, **(others or {})}}


def convert_saved_answer_for_page(answer: SavedAnswer) -> dict[str, Any]:
    """An annotator's own answer; `seconds` so that the page goes on counting."""
    return {
        "value": answer.value,
        "flag": answer.flag,
        "comment": answer.comment,
        "seconds": answer.seconds,
        "seq": answer.seq,
        "saved_at": answer.saved_at,
    }


_DOWN = 2
"""A page has its own heading: those of guidelines stand below it."""


def convert_guidelines_to_html(markdown: str) -> Markup:
    """Guidelines as HTML. Tags in them are shown as text, a picture is only linked, and a link that is no web address
    stays text.

    >>> convert_guidelines_to_html("**Rate** <b onclick=x>both</b>")
    Markup('<p><strong>Rate</strong> &lt;b onclick=x&gt;both&lt;/b&gt;</p>\\n')
    """
    return Markup(_markdown_parser().render(markdown))


@lru_cache(maxsize=1)
def _markdown_parser() -> MarkdownIt:
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    markdown.validateLink = lambda url: url.startswith(("https://", "http://"))  # type: ignore[method-assign]
    markdown.core.ruler.push("fit", _lower_markdown_headings)
    markdown.add_render_rule("link_open", _render_link_open)
    return markdown


def _lower_markdown_headings(state: StateCore) -> None:
    """Lower headings; and the alignment of columns goes, which would be an inline style that the policy stops."""
    for token in state.tokens:
        token.attrs.pop("style", None)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + _DOWN)}"


def _render_link_open(self: RendererHTML, tokens: Any, i: int, options: Any, env: Any) -> str:
    # A personal link must not travel along, nor the page it leads to reach back.
    tokens[i].attrSet("target", "_blank")
    tokens[i].attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, i, options, env)
