"""The routes below the owner's link. They only read, so that nothing can be forged."""

from __future__ import annotations

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from embassay.protocols.hume.answers import in_words, stored_annotations
from embassay.protocols.hume.study import Annotation
from embassay.web.annotation.access import Door
from embassay.web.annotation.browser import browser_of, new_browser, remember
from embassay.web.annotation.export import KINDS, exported
from embassay.web.annotation.overview import Overview, overview
from embassay.web.annotation.owner_page import owner_page
from embassay.web.annotation.refusals import Refusal
from embassay.web.annotation.service import Service


class OwnerRoutes:
    """What is behind `/o/TOKEN/`."""

    def __init__(self, service: Service, door: Door) -> None:
        self._service, self._door = service, door

    def router(self) -> APIRouter:
        """All of them."""
        routes = APIRouter(prefix="/o/{token}")
        routes.get("")(self.whole_link)
        routes.get("/")(self.page)
        routes.get("/annotations.csv")(self.csv)
        routes.get("/annotations.jsonl")(self.jsonl)
        return routes

    def whole_link(self, request: Request, token: str) -> Response:
        """Somebody lost the last stroke of their link."""
        self._let_in(request, token)
        return RedirectResponse(f"{token}/", 308)

    def page(self, request: Request, token: str, show: bool = False) -> HTMLResponse:
        """Progress, agreement, remarks and links; to a browser that annotates too, only what it `show`s on purpose."""
        self._let_in(request, token)
        found, others = self._overview(), self._with_answers()
        browsers, browser = self._service.browsers, browser_of(request) or new_browser()
        writers = () if show else browsers.writers(browser)
        held_back = writers if set(others) - set(writers) else ()
        if not held_back:
            browsers.shown(browser, others)
        answer = HTMLResponse(
            owner_page(
                self._service,
                found,
                base=self._base(request),
                writers=held_back,
                exposures=browsers.exposures(),
            )
        )
        remember(request, answer, browser)
        return answer

    def csv(self, request: Request, token: str, exposed: bool = False) -> Response:
        """All answers as CSV."""
        return self._file(request, token, exposed, "csv")

    def jsonl(self, request: Request, token: str, exposed: bool = False) -> Response:
        """All answers as JSONL."""
        return self._file(request, token, exposed, "jsonl")

    def _file(self, request: Request, token: str, exposed: bool, kind: str) -> Response:
        text = exported(self._annotations(request, token, exposed), kind)
        headers = {"content-disposition": f'attachment; filename="annotations.{kind}"'}
        return Response(text, headers=headers, media_type=KINDS[kind][1])

    def _annotations(self, request: Request, token: str, exposed: bool) -> tuple[Annotation, ...]:
        self._let_in(request, token)
        exposures = self._service.browsers.exposures()
        if exposures and not exposed:
            raise Refusal(
                409,
                f"{in_words(exposures)} Add ?exposed=true to export all the same, and say so where you use them.",
            )
        self._service.browsers.shown(browser_of(request), self._with_answers())
        return stored_annotations(self._service.store)

    def _let_in(self, request: Request, token: str) -> None:
        self._door.let_in("owner", token, request.client.host if request.client else None)

    def _overview(self) -> Overview:
        service = self._service
        store = service.store
        return overview(
            service.folder.study.tasks,
            service.items_by_task,
            store.annotators(),
            store.all_answers(),
            store.finished(),
        )

    def _with_answers(self) -> tuple[str, ...]:
        answers = self._service.store.all_answers()
        return tuple(name for name, own in answers.items() if any(not one.is_empty for one in own.values()))

    def _base(self, request: Request) -> str:
        return self._service.options.public_url or str(request.base_url).rstrip("/")
