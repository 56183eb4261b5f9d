"""What an annotator's page is told: the study in their order, with their answers and guidelines. Never gold."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_core import StateCore
from markupsafe import Markup

from embassay.protocols.hume.answers import Annotator, Saved
from embassay.protocols.hume.folder import Task
from embassay.protocols.hume.study import Item
from embassay.web.annotation.service import Service

RIGHT_TO_LEFT = frozenset(
    {"ara", "arb", "heb", "fas", "pes", "urd", "yid", "div", "pus", "ckb", "snd", "uig"}
)
SETTINGS = {"single_keys": True, "advance": False, "theme": "system"}


def study_shown(service: Service, annotator: Annotator) -> dict[str, Any]:
    """The study as one annotator meets it: no item's text is in it."""
    answers = service.store.answers(annotator.id)
    finished = service.store.finished().get(annotator.id, {})
    study = service.folder.study
    titles = titles_of(study.tasks)
    return {
        "study": study.name,
        "annotator": {"name": annotator.name, "settings": {**SETTINGS, **annotator.settings}},
        "guidelines_version": study.guidelines_version,
        "tasks": [
            task_shown(
                task, titles[task.name], list(service.order(annotator.id, task.name)), task.name in finished
            )
            for task in study.tasks
        ],
        "answers": {item: answer_shown(one) for item, one in answers.items() if not one.is_empty},
        "seq": service.store.last_seq(annotator.id),
    }


def titles_of(tasks: Sequence[Task]) -> dict[str, str]:
    """The title of each task by its name. Where several have one title, such as that of their dataset, it has their
    names."""
    often = Counter(task.title for task in tasks)

    def own(task: Task) -> str:
        return task.name if task.title in task.name else f"{task.title} ({task.name})"

    return {task.name: task.title if often[task.title] == 1 else own(task) for task in tasks}


def task_shown(task: Task, title: str, items: list[str], finished: bool) -> dict[str, Any]:
    """A task with its instructions and practice; of its source, nothing. `title` tells it from the others."""
    return {
        "name": task.name,
        "family": task.family,
        "lang": task.lang,
        "dir": "rtl" if task.lang in RIGHT_TO_LEFT else "ltr",
        "title": title,
        "question": task.question,
        "labels": [label.model_dump() for label in task.labels],
        "scale": task.scale.model_dump() if task.scale else None,
        "guidelines_html": str(as_html(task.guidelines)),
        "practice": [one.model_dump() for one in task.practice],
        "n": len(items),
        "items": items,
        "finished": finished,
    }


def item_shown(item: Item) -> dict[str, Any]:
    """An item as everybody sees it."""
    return {"id": item.id, "task": item.task, "payload": dict(item.payload)}


def answer_shown(answer: Saved) -> dict[str, Any]:
    """An annotator's own answer; `seconds` so that the page goes on counting."""
    return {
        "value": answer.value,
        "flag": answer.flag,
        "comment": answer.comment,
        "seconds": answer.seconds,
        "seq": answer.seq,
        "saved_at": answer.saved_at,
    }


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
