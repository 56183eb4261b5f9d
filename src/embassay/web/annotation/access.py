"""Who asks, by their link and their browser, whether a change comes from their page, and answers that say no."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from fastapi import Request, Response

from embassay.protocols.hume.answers import Holder, Links, Role
from embassay.web.annotation.service import ServeOptions
from embassay.web.guard import RateLimit, address_key


class Door:
    """Lets holders of links in, and tells nobody else whether a link exists."""

    def __init__(self, links: Links, options: ServeOptions) -> None:
        self._links, self._origins = links, options.origins
        rates = options.rates
        self._own = RateLimit(rates.burst, rates.per_second)
        self._wrong = RateLimit(rates.wrong_burst, rates.wrong_per_second)
        self._known: set[bytes] = set()

    def let_in(self, role: Role, token: str, address: str | None) -> Holder:
        """The holder of the link. Raises Refusal: 404 where there is none, 429 where too much was asked or guessed.

        An address that guessed too often is not looked up any more, unless its link was seen to be right: those who
        share it with a guesser go on.
        """
        key = address_key(address)
        mark = hashlib.sha256(token.encode("utf-8", "replace")).digest()
        if mark not in self._known and self._wrong.is_spent(key):
            raise Refusal(429, "Too many wrong links. Wait a minute.")
        holder = self._links.find(token)
        if holder is None or holder.role != role:
            self._known.discard(mark)
            self._wrong.allows(key)
            raise not_found()
        self._known.add(mark)
        if not self._own.allows(mark.hex()):
            raise Refusal(429, "Too many requests at once. Wait a moment.")
        return holder

    def check_form(self, token: str, headers: Mapping[str, str]) -> None:
        """Raises Refusal for a change that another site, or a form of one, could have sent."""
        empty = headers.get("content-length", "0") == "0" and "transfer-encoding" not in headers
        if (
            not empty
            and headers.get("content-type", "").partition(";")[0].strip().lower() != "application/json"
        ):
            raise Refusal(415, "Send JSON.")
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            raise Refusal(403, "This was not sent by the page.")
        origin = headers.get("origin")
        own = (headers.get("host", "").lower(), *self._origins)
        if origin is not None and urlsplit(origin).netloc.lower() not in own:
            raise Refusal(403, "This was not sent by the page.")
        if not self._links.is_form_key(token, headers.get("x-csrf-token", "")):
            raise Refusal(403, "The page is out of date. Load it again.")


COOKIE = "embassay_browser"
_NAME = re.compile(r"[0-9a-f]{32}")
_YEAR_SECONDS = 365 * 24 * 3600


def browser_of(request: Request) -> str:
    """The browser's name, empty where it has none."""
    name = request.cookies.get(COOKIE, "")
    return name if _NAME.fullmatch(name) else ""


def new_browser() -> str:
    """A name for a browser that has none."""
    return secrets.token_hex(16)


def remember(request: Request, answer: Response, name: str) -> None:
    """Let the browser keep its name."""
    # Lax: a link in a mail opens the page, and another site's form still brings no cookie.
    answer.set_cookie(
        COOKIE,
        name,
        max_age=_YEAR_SECONDS,
        httponly=True,
        samesite="lax",
        secure=request.scope["scheme"] == "https",
    )


class Refusal(Exception):
    """A request that is refused with `status`; `more` are further fields of the answer."""

    def __init__(self, status: int, sentence: str, **more: Any) -> None:
        super().__init__(sentence)
        self.status, self.sentence, self.more = status, sentence, more

    @property
    def body(self) -> dict[str, Any]:
        """What is sent."""
        return {"error": self.sentence, **self.more}


def not_found() -> Refusal:
    """The one answer for wrong links, unknown paths and what is somebody else's."""
    return Refusal(404, "There is nothing here.")
