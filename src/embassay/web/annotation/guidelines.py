"""Guidelines in Markdown as HTML that can only be text: headings, lists, tables, emphasis and links."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markupsafe import Markup

_DOWN = 2
"""A page has its own heading: those of guidelines stand below it."""


def as_html(markdown: str) -> Markup:
    """Guidelines as HTML. Tags in them are shown as text, a picture is only linked, and a link that is no web address
    stays text.

    >>> as_html("**Rate** <b onclick=x>both</b>")
    Markup('<p><strong>Rate</strong> &lt;b onclick=x&gt;both&lt;/b&gt;</p>\\n')
    """
    return Markup(_parser().render(markdown))


@lru_cache(maxsize=1)
def _parser() -> MarkdownIt:
    made = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    made.validateLink = lambda url: url.startswith(("https://", "http://"))  # type: ignore[method-assign]
    made.core.ruler.push("fit", _fit)
    made.add_render_rule("link_open", _link_open)
    return made


def _fit(state: StateCore) -> None:
    """Lower headings; and the alignment of columns goes, which would be an inline style that the policy stops."""
    for token in state.tokens:
        token.attrs.pop("style", None)
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + _DOWN)}"


def _link_open(self: RendererHTML, tokens: Any, i: int, options: Any, env: Any) -> str:
    # A personal link must not travel along, nor the page it leads to reach back.
    tokens[i].attrSet("target", "_blank")
    tokens[i].attrSet("rel", "noopener noreferrer nofollow")
    return self.renderToken(tokens, i, options, env)
