"""The app: its routes, the guard before them all, and what goes wrong as an answer."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from typing import Annotated, Any, Literal

from fastapi import APIRouter, FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from pydantic import AfterValidator, BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles

from embassay.errors import DataError, ModelError
from embassay.protocols.hume.profiles import check_annotator_profile_answers
from embassay.protocols.hume.store import (
    Annotator,
    RefusedAnswer,
    SubmittedAnswer,
    can_be_stored_as_text,
    convert_answer_for_storage,
)
from embassay.protocols.hume.study import StudyItem, StudyTask
from embassay.web.annotation import service
from embassay.web.annotation.overview import OWNER_STATIC, OwnerRoutes
from embassay.web.annotation.page import STATIC, render_annotator_page
from embassay.web.annotation.service import (
    LinkGatekeeper,
    RequestRefusal,
    StudyService,
    convert_saved_answer_for_page,
    make_browser_name,
    make_not_found_refusal,
    read_browser_cookie_id,
    set_browser_name_cookie,
)
from embassay.web.server import HEADERS, HostAndBodyLimitMiddleware


class AnnotatorRoutes:
    """What is behind `/a/TOKEN/`."""

    def __init__(self, service: StudyService, door: LinkGatekeeper) -> None:
        self._service, self._door = service, door

    def build_router(self) -> APIRouter:
        """All of them."""
        routes = APIRouter(prefix="/a/{token}")
        routes.get("")(self.redirect_to_full_link)
        routes.get("/")(self.page)
        routes.get("/study")(self.study)
        routes.get("/tasks/{task}/items")(self.items)
        routes.get("/items/{item_id:path}")(self.item)
        routes.put("/answers/{item_id:path}")(self.answer)
        routes.post("/tab")(self.claim_writing_tab)
        routes.post("/tasks/{task}/finish")(self.finish)
        routes.put("/profile")(self.store_annotator_profile)
        return routes

    def redirect_to_full_link(self, request: Request, token: str) -> Response:
        """Somebody lost the last stroke of their link."""
        self._find_annotator_by_link(request, token)
        return RedirectResponse(f"{token}/", 308)

    def page(self, request: Request, token: str) -> HTMLResponse:
        """Send the frame of the annotator's page, which asks for what it shows."""
        self._find_annotator_by_link(request, token)
        form_key = self._service.links.make_csrf_key(token)
        answer = HTMLResponse(render_annotator_page(self._service.folder.study.name, form_key))
        if not read_browser_cookie_id(request):
            set_browser_name_cookie(request, answer, make_browser_name())
        return answer

    def study(self, request: Request, token: str) -> dict[str, Any]:
        """The study for its annotator: tasks, own order, own answers."""
        annotator = self._find_annotator_by_link(request, token)
        shown = service.build_study_for_annotator(self._service, annotator)
        if shown["answers"]:
            self._service.open_browser_activity_log.note_answers_shown(read_browser_cookie_id(request), (annotator.id,))
        return shown

    def items(self, request: Request, token: str, task: str) -> dict[str, Any]:
        """All items of a task at once."""
        annotator = self._find_annotator_by_link(request, token)
        order = self._service.order(annotator.id, find_task(self._service, task).name)
        return {"items": [self._build_shown_item(request, annotator, self._service.items[item]) for item in order]}

    def item(self, request: Request, token: str, item_id: str) -> dict[str, Any]:
        """Send one item of the study."""
        annotator = self._find_annotator_by_link(request, token)
        return self._build_shown_item(
            request, annotator, find_item_visible_to_annotator(self._service, annotator, item_id)
        )

    def _build_shown_item(self, request: Request, annotator: Annotator, item: StudyItem) -> dict[str, Any]:
        """An item, to an adjudicator with what was answered: whose browser that is, must not annotate."""
        if not annotator.is_adjudicator:
            return service.build_item_for_page(item)
        adjudication = self._service.open_disputes_for_adjudicators
        self._service.open_browser_activity_log.note_answers_shown(
            read_browser_cookie_id(request), adjudication.list_item_answerers(item.id)
        )
        return service.build_item_for_page(
            item, adjudication.list_disputed_answers(self._service.tasks[item.task], item.id)
        )

    def answer(self, request: Request, token: str, item_id: str, sent: SentAnswer) -> dict[str, Any]:
        """Store an annotator's answer to an item."""
        annotator = self._find_annotator_by_link(request, token)
        saved = save_answer(self._service, annotator, item_id, sent)
        self._service.open_browser_activity_log.record_browser_that_answered(
            read_browser_cookie_id(request), annotator.id
        )
        return saved

    def claim_writing_tab(self, request: Request, token: str, sent: TabWriteRequest) -> dict[str, bool]:
        """Claim the right to write for one browser tab."""
        return take_annotator_write_lease(self._service, self._find_annotator_by_link(request, token), sent)

    def finish(self, request: Request, token: str, task: str, sent: TabWriteRequest | None = None) -> dict[str, Any]:
        """Finish a task and freeze its answers."""
        return freeze_task(self._service, self._find_annotator_by_link(request, token), task, sent)

    def store_annotator_profile(self, request: Request, token: str, sent: SentProfile) -> dict[str, Any]:
        """Store an annotator's name and settings."""
        return save_annotator_profile(self._service, self._find_annotator_by_link(request, token), sent)

    def _find_annotator_by_link(self, request: Request, token: str) -> Annotator:
        """Whose link it is, once it is sure that their page sent what changes something."""
        address = request.client.host if request.client else None
        holder = self._door.find_holder_of_link_or_refuse("annotator", token, address)
        if request.method not in ("GET", "HEAD"):
            self._door.check_request_forgery(token, request.headers)
        annotator = self._service.store.annotator(holder.id)
        if annotator is None:
            raise make_not_found_refusal()
        return annotator


# JavaScript's whole numbers are exact up to here.
_MOST_SEQ = 2**53


def _check_text_is_storable(text: str) -> str:
    if not can_be_stored_as_text(text):
        raise ValueError("a character that cannot be stored")
    return text


Comment = Annotated[str, Field(max_length=4000), AfterValidator(_check_text_is_storable)]
Flag = Annotated[str, Field(max_length=500), AfterValidator(_check_text_is_storable)]
Tab = Annotated[str, Field(min_length=1, max_length=64), AfterValidator(_check_text_is_storable)]
Name = Annotated[str, Field(max_length=80), AfterValidator(_check_text_is_storable)]


class _RequestBody(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class SentAnswer(_RequestBody):
    """An answer to one item; `value` is checked by the family of its task."""

    value: Any = None
    seconds: Annotated[float, Field(ge=0, le=1e7)] = 0.0
    flag: Flag = ""
    comment: Comment = ""
    seq: Annotated[int, Field(ge=1, le=_MOST_SEQ)]
    tab: Tab
    paused: Annotated[int, Field(ge=0, le=100_000)] = 0


class TabWriteRequest(_RequestBody):
    """A tab that asks whether it may write, or takes the right to."""

    tab: Tab
    take: bool = False


class PageSettingsRequestBody(_RequestBody):
    """How somebody's page is set."""

    single_keys: bool = True
    advance: bool = False
    theme: Literal["system", "light", "dark"] = "system"


class SentProfile(_RequestBody):
    """The name somebody gives themselves, their settings, and what they say of themselves where the study asks."""

    name: Name | None = None
    settings: PageSettingsRequestBody = PageSettingsRequestBody()
    about: Annotated[dict[Name, Name], Field(max_length=100)] = {}


_WHY = {
    "frozen": "This task is finished, and its answers are frozen.",
    "older": "A later answer to this item is already stored.",
    "counted": "Later questions depend on this grade, so it cannot be changed.",
    "another_tab": "The study is open in another tab, which is saving answers. Continue there, or take over here.",
}


def find_study_item_or_refuse(service: StudyService, item_id: str) -> StudyItem:
    """The item of this id. Raises Refusal where there is none."""
    if item_id not in service.items:
        raise make_not_found_refusal()
    return service.items[item_id]


def find_item_visible_to_annotator(service: StudyService, annotator: Annotator, item_id: str) -> StudyItem:
    """The item of this id, if it is the annotator's to see: an adjudicator has those to decide. Raises Refusal."""
    item = find_study_item_or_refuse(service, item_id)
    if annotator.is_adjudicator and item_id not in service.order(annotator.id, item.task):
        raise make_not_found_refusal()
    return item


def find_task(service: StudyService, name: str) -> StudyTask:
    """The task of this name. Raises Refusal where there is none."""
    if name not in service.tasks:
        raise make_not_found_refusal()
    return service.tasks[name]


def save_answer(service: StudyService, annotator: Annotator, item_id: str, sent: SentAnswer) -> dict[str, Any]:
    """Store an answer. Raises Refusal for a value that is no answer to the item, and where it may not be stored."""
    item = find_item_visible_to_annotator(service, annotator, item_id)
    if service.grading is not None and service.grading.is_passage_grade_fixed(item_id):
        saved = service.store.answers(annotator.id).get(item_id)
        if saved is None or saved.seq != sent.seq:
            raise RequestRefusal(
                409, _WHY["counted"], why="counted", answer=convert_saved_answer_for_page(saved) if saved else None
            )
    try:
        value = convert_answer_for_storage(service.tasks[item.task], item.payload, sent.value)
    except DataError as error:
        raise RequestRefusal(400, f"This is not a valid answer to the item. {error.mend}".strip()) from None
    draft = SubmittedAnswer(
        item.id, value, sent.seq, sent.seconds, sent.flag.strip(), sent.comment, sent.tab, sent.paused
    )
    done = service.store.save(annotator.id, item.task, draft)
    if isinstance(done, RefusedAnswer):
        held = convert_saved_answer_for_page(done.answer) if done.answer else None
        raise RequestRefusal(409, _WHY[done.why], why=done.why, answer=held)
    if service.grading is not None:
        service.grading.update_labelling_study_state()
    return {"seq": done.seq, "saved_at": done.saved_at}


def take_annotator_write_lease(service: StudyService, annotator: Annotator, sent: TabWriteRequest) -> dict[str, bool]:
    """Whether this tab may write."""
    return {"writes": service.store.try_to_take_write_lease(annotator.id, sent.tab, take=sent.take)}


def freeze_task(
    service: StudyService, annotator: Annotator, task: str, sent: TabWriteRequest | None = None
) -> dict[str, Any]:
    """Freeze a task. Raises Refusal with the open items, and those that are flagged, where some are open, and where the
    tab that asks is not the one that writes."""
    name = find_task(service, task).name
    if service.grading is not None:
        raise RequestRefusal(409, "This study ends automatically once it is decided.", open=[], flagged=[])
    if sent is not None and not service.store.try_to_take_write_lease(annotator.id, sent.tab, take=sent.take):
        raise RequestRefusal(409, _WHY["another_tab"], why="another_tab", open=[], flagged=[])
    order = service.order(annotator.id, name)
    if annotator.is_adjudicator and not order:
        raise RequestRefusal(409, "There is nothing to decide in this task.", open=[], flagged=[])
    left = service.store.finish(annotator.id, name, order)
    if left:
        answers = service.store.answers(annotator.id)
        flagged = [item for item in order if item in answers and answers[item].flag]
        raise RequestRefusal(
            409, f"{len(left)} of {len(order)} items are still open.", open=list(left), flagged=flagged
        )
    return {"finished": True}


def save_annotator_profile(service: StudyService, annotator: Annotator, sent: SentProfile) -> dict[str, Any]:
    """Keep a name and settings, and what somebody says of themselves. Raises Refusal for what was not asked."""
    name = (sent.name or "").strip() or None
    try:
        about = check_annotator_profile_answers(service.folder.study, sent.about)
    except DataError as error:
        raise RequestRefusal(400, f"{error.what} {error.mend}".strip()) from None
    service.store.save_name_and_settings(annotator.id, name, sent.settings.model_dump())
    if about and not annotator.is_adjudicator:
        service.store.save_profile_answers(annotator.id, about)
    return {"name": name, "settings": sent.settings.model_dump()}


_THREADS = 16


def make_annotation_app(service: StudyService) -> HostAndBodyLimitMiddleware:
    """The app that serves a study. It describes itself to nobody: there are no pages of its interface."""
    app = FastAPI(
        openapi_url=None, docs_url=None, redoc_url=None, redirect_slashes=False, lifespan=_limit_web_app_threads
    )
    door = LinkGatekeeper(service.links, service.options)
    app.include_router(AnnotatorRoutes(service, door).build_router())
    app.include_router(OwnerRoutes(service, door).build_router())
    app.mount("/static/owner", StaticFiles(directory=OWNER_STATIC))
    app.mount("/static", StaticFiles(directory=STATIC, check_dir=False))
    app.add_api_route("/health", partial(_check_answers_readable, service))
    app.add_api_route("/favicon.ico", _answer_missing_icon)
    for kind, answer in ANSWERS:
        app.add_exception_handler(kind, answer)
    return HostAndBodyLimitMiddleware(app, service.options, choose_response_headers)


def _answer_missing_icon() -> Response:
    """Browsers ask for one; an error in their console would look like one of ours."""
    return Response(status_code=204)


@asynccontextmanager
async def _limit_web_app_threads(_: FastAPI) -> AsyncIterator[None]:
    """Each thread may hold a connection to the database."""
    from anyio.to_thread import current_default_thread_limiter

    current_default_thread_limiter().total_tokens = _THREADS
    yield


def _check_answers_readable(service: StudyService) -> dict[str, str]:
    """Whether answers can be read; ModelError where not."""
    service.store.annotators()
    return {"status": "ok"}


# The link is the only key, so no address may leave the page: no-referrer is among HEADERS.
_STATIC = "/static/"


def choose_response_headers(path: str) -> Mapping[str, str]:
    """The headers of the answer at a path."""
    return {**HEADERS, "cache-control": "no-cache" if path.startswith(_STATIC) else "no-store"}


_FIELDS = {"value", "seconds", "flag", "comment", "seq", "tab", "paused", "take", "name", "settings", "about"}
_SAID = {405: "That is not possible here.", 400: "The request cannot be read."}
_NOTHING = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><title>Nothing here</title></head>
<body><main><h1>There is nothing here</h1>
<p>If somebody sent you a link, check that it is complete, or ask for a new one.</p></main></body></html>
"""
_log = logging.getLogger("uvicorn.error")


def answer_refusal(request: Request, refusal: Any) -> Response:
    """A refusal of ours; to somebody who opens a link that is none, in words."""
    if refusal.status == 404 and "text/html" in request.headers.get("accept", ""):
        return HTMLResponse(_NOTHING, 404)
    return JSONResponse(refusal.body, refusal.status)


def answer_invalid_body(_: Request, error: Any) -> Response:
    """A body that is no answer: which field, never what was in it."""
    places = (fault["loc"] for fault in error.errors())
    names = {str(place[1]) for place in places if len(place) > 1 and isinstance(place[1], str)} & _FIELDS
    return JSONResponse({"error": f"Cannot read {', '.join(sorted(names)) or 'the body'}."}, 400)


def answer_framework_error(request: Request, error: Any) -> Response:
    """What the framework refuses by itself."""
    if error.status_code == 404:
        return answer_refusal(request, make_not_found_refusal())
    return JSONResponse({"error": _SAID.get(error.status_code, "This was refused.")}, error.status_code)


def answer_database_error(_: Request, error: Any) -> Response:
    """The database does not answer: whoever runs the server reads why, and the page keeps the answer meanwhile."""
    _log.warning("%s", error)
    return JSONResponse({"error": "The answers cannot be stored right now. Try again in a moment."}, 503)


def answer_internal_error(_: Request, error: Any) -> Response:  # noqa: ARG001
    """A mistake of ours: its traceback goes to the log of the server."""
    return JSONResponse({"error": "Something went wrong on the server."}, 500)


ANSWERS = (
    (RequestRefusal, answer_refusal),
    (RequestValidationError, answer_invalid_body),
    (HTTPException, answer_framework_error),
    (ModelError, answer_database_error),
    (Exception, answer_internal_error),
)
"""By kind of error, how it is answered."""
