"""The frame of the annotator's page: all that is in it comes from its scripts."""

from __future__ import annotations

from functools import lru_cache

from jinja2 import Environment, PackageLoader, StrictUndefined

from embassay.web.annotation.page.bundle import STATIC, in_order


def render_page(title: str, csrf: str) -> str:
    """The page behind an annotator's link, `/a/TOKEN/`: `title` is the study's name, `csrf` goes back with every
    change as the header X-CSRF-Token. Scripts and style are linked as `../../static/`."""
    scripts = [path.name for path in in_order(STATIC)]
    return environment().get_template("annotate.html").render(title=title, csrf=csrf, scripts=scripts)


@lru_cache(maxsize=1)
def environment() -> Environment:
    """The template environment: everything is escaped, an unknown name is an error."""
    return Environment(
        loader=PackageLoader("embassay.web.annotation.page", "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
