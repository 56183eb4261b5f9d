"""The leaderboard's pages: rendered to read without JavaScript, made live by the modules in `static/`."""

from embassay.web.leaderboard.page.render import STATIC, render, render_card, render_error

__all__ = ["STATIC", "render", "render_card", "render_error"]
