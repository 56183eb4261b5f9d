"""The annotator's page: one frame, plain scripts and one style sheet, served as files or put into one file."""

from embassay.web.annotation.page.bundle import STATIC
from embassay.web.annotation.page.frame import render_page

__all__ = ["STATIC", "render_page"]
