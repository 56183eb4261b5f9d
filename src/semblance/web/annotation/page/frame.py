"""The frame of the annotator's page: all that is in it comes from its scripts."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

STATIC = Path(__file__).parent / "static"
"""The folder of scripts and style that a server gives out as `/static/`."""
SCRIPTS = tuple(path.name for path in sorted(STATIC.glob("*.js")))


def render_page(title: str, csrf: str) -> str:
    """The page behind an annotator's link, `/a/TOKEN/`: `title` is the study's name, `csrf` goes back with every
    change as the header X-CSRF-Token. Scripts and style are linked as `../../static/`."""
    return _template().render(title=title, csrf=csrf, scripts=SCRIPTS)


@lru_cache(maxsize=1)
def _template() -> Template:
    made = Environment(
        loader=PackageLoader("semblance.web.annotation.page", "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True,
    )  # fmt: skip
    return made.get_template("annotate.html")
