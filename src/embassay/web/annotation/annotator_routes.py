"""The routes below an annotator's link: each lets its holder in, and hands over."""

from __future__ import annotations

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from embassay.protocols.hume.answers import Annotator
from embassay.web.annotation import answering, shown
from embassay.web.annotation.access import Door
from embassay.web.annotation.browser import browser_of, new_browser, remember
from embassay.web.annotation.page import render_page
from embassay.web.annotation.refusals import not_found
from embassay.web.annotation.sent import SentAnswer, SentProfile, SentTab
from embassay.web.annotation.service import Service


class AnnotatorRoutes:
    """What is behind `/a/TOKEN/`."""

    def __init__(self, service: Service, door: Door) -> None:
        self._service, self._door = service, door

    def router(self) -> APIRouter:
        """All of them."""
        routes = APIRouter(prefix="/a/{token}")
        routes.get("")(self.whole_link)
        routes.get("/")(self.page)
        routes.get("/study")(self.study)
        routes.get("/tasks/{task}/items")(self.items)
        routes.get("/items/{item_id:path}")(self.item)
        routes.put("/answers/{item_id:path}")(self.answer)
        routes.post("/tab")(self.tab)
        routes.post("/tasks/{task}/finish")(self.finish)
        routes.put("/profile")(self.profile)
        return routes

    def whole_link(self, request: Request, token: str) -> Response:
        """Somebody lost the last stroke of their link."""
        self._who(request, token)
        return RedirectResponse(f"{token}/", 308)

    def page(self, request: Request, token: str) -> HTMLResponse:
        """The frame; what it shows it asks for."""
        self._who(request, token)
        form_key = self._service.links.form_key(token)
        answer = HTMLResponse(render_page(self._service.folder.study.name, form_key))
        if not browser_of(request):
            remember(request, answer, new_browser())
        return answer

    def study(self, request: Request, token: str) -> dict[str, Any]:
        """Tasks, own order, own answers."""
        annotator = self._who(request, token)
        told = shown.study_shown(self._service, annotator)
        if told["answers"]:
            self._service.browsers.shown(browser_of(request), (annotator.id,))
        return told

    def items(self, request: Request, token: str, task: str) -> dict[str, Any]:
        """All items of a task at once."""
        annotator = self._who(request, token)
        order = self._service.order(annotator.id, answering.task_of(self._service, task).name)
        return {"items": [shown.item_shown(self._service.items[item]) for item in order]}

    def item(self, request: Request, token: str, item_id: str) -> dict[str, Any]:
        """One item."""
        self._who(request, token)
        return shown.item_shown(answering.item_of(self._service, item_id))

    def answer(self, request: Request, token: str, item_id: str, sent: SentAnswer) -> dict[str, Any]:
        """Store an answer."""
        annotator = self._who(request, token)
        saved = answering.save(self._service, annotator, item_id, sent)
        self._service.browsers.wrote(browser_of(request), annotator.id)
        return saved

    def tab(self, request: Request, token: str, sent: SentTab) -> dict[str, bool]:
        """Which tab writes."""
        return answering.take_lease(self._service, self._who(request, token), sent)

    def finish(self, request: Request, token: str, task: str, sent: SentTab | None = None) -> dict[str, Any]:
        """Freeze a task."""
        return answering.finish(self._service, self._who(request, token), task, sent)

    def profile(self, request: Request, token: str, sent: SentProfile) -> dict[str, Any]:
        """Name and settings."""
        return answering.set_profile(self._service, self._who(request, token), sent)

    def _who(self, request: Request, token: str) -> Annotator:
        """Whose link it is, once it is sure that their page sent what changes something."""
        address = request.client.host if request.client else None
        holder = self._door.let_in("annotator", token, address)
        if request.method not in ("GET", "HEAD"):
            self._door.check_form(token, request.headers)
        found = self._service.store.annotator(holder.id)
        if found is None:
            raise not_found()
        return found
