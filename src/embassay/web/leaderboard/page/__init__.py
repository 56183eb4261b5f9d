"""The leaderboard's pages: rendered to read without JavaScript, made live by the modules in `static/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from embassay.document import marks
from embassay.document.html import minify_html
from embassay.protocols.kernel import tables as numbers
from embassay.web.leaderboard.contract import BoardList, Leaderboard, SystemProfile
from embassay.web.leaderboard.page import rows
from embassay.web.leaderboard.page.rows import (
    arrange_board_table,
    arrange_card_scores,
    draw_interval_mark_of_cell,
    draw_rank_range_mark,
    find_possible_leaders,
    format_rank_of_total,
    pick_kind_class,
)

__all__ = [
    "STATIC",
    "read_static_files",
    "render_board_page",
    "render_boards_overview",
    "render_error_page",
    "render_system_page",
]

STATIC = Path(__file__).parent / "static"


@lru_cache(maxsize=1)
def read_static_files() -> Mapping[str, bytes]:
    """Scripts and styles by name, as a server gives them out below `static/`. The places of marks are a file of their
    own, since a page has no style in it."""
    read = {path.name: path.read_bytes() for path in STATIC.iterdir() if path.is_file()}
    return {**read, "marks.css": marks.write_all_bar_position_css().encode()}


def render_board_page(board: Leaderboard | None, boards: BoardList, *, base: str) -> str:
    """The page of a board, or of a folder that has none yet. `base` stands before every address."""
    if board is None:
        return _render_template("empty.html", boards=boards, base=base)
    return _render_template("board.html", board=board, boards=boards, base=base, shown=arrange_board_table(board))


def render_boards_overview(newest: Sequence[Leaderboard], boards: BoardList, *, base: str) -> str:
    """What every board of a folder says, the newest version of each; then the list of all."""
    return _render_template(
        "overview.html", newest=[(board, find_possible_leaders(board)) for board in newest], boards=boards, base=base
    )


def render_system_page(card: SystemProfile, boards: BoardList, *, base: str) -> str:
    """The page of one system."""
    return _render_template("card.html", card=card, boards=boards, base=base, shown=arrange_card_scores(card))


def render_error_page(status: int, title: str, text: str, *, base: str) -> str:
    """A page that says what is not there, and where to go on."""
    return _render_template("error.html", status=status, title=title, text=text, base=base)


def _render_template(template: str, **values: object) -> str:
    return minify_html(_template_environment().get_template(template).render(**values))


@lru_cache(maxsize=1)
def _script_names() -> tuple[str, ...]:
    """The modules, so that a browser asks for all of them at once."""
    return tuple(sorted(path.name for path in STATIC.glob("*.js") if path.name != "theme.js"))


@lru_cache(maxsize=1)
def _template_environment() -> Environment:
    """The template environment: everything is escaped, an unknown name is an error."""
    environment = Environment(
        loader=PackageLoader("embassay.web.leaderboard.page", "templates"),
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )  # fmt: skip
    environment.globals.update(
        numbers=numbers, marks=marks, words=rows, scripts=_script_names, mark=draw_interval_mark_of_cell,
        rank_mark=draw_rank_range_mark,
        sign=pick_kind_class,
        place=format_rank_of_total
    )  # fmt: skip
    environment.filters["parameter"] = lambda text: quote(text, safe="")
    return environment
