"""A random name for a browser, in a cookie that no script reads: it tells nothing but whether two links were opened
in one browser (`embassay.protocols.hume.answers.exposure`)."""

from __future__ import annotations

import re
import secrets

from fastapi import Request, Response

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
