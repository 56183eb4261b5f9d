"""What annotators are told: question, guidelines, words for labels and levels. People and models get the same text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template

from embassay.protocols.hume.folder.files import LabelChoice, Scale, Task
from embassay.protocols.hume.sampling.options import LabelText
from embassay.protocols.hume.study import Family
from embassay.runs.files import digest

VERSION = "1"
"""Of the guidelines beside this module; raised with any word of them."""
QUESTIONS: Mapping[Family, str] = {
    "classification": "Which label fits this text best?",
    "clustering": "Which texts are about the same topic?",
    "reranking": "Which of these documents answer the query?",
    "sts": "How similar in meaning are the two texts?",
}
ANCHORS: Mapping[str, str] = {
    "0": "Unrelated: the texts are about different things.",
    "1": "Different statements on the same subject.",
    "2": "Not equivalent, though some details are the same.",
    "3": "Roughly the same, but something important differs or is missing.",
    "4": "Nearly the same: only unimportant details differ.",
    "5": "The same meaning.",
}
"""A level of the usual scale -> what it means (spec hume 3)."""
EXAMPLES: Mapping[str, tuple[str, str]] = {
    "0": ("The night train was late again.", "She planted an apple tree."),
    "1": ("How long must rice be cooked?", "Where in Europe does rice grow?"),
    "2": ("The choir sings in the old church on Sundays.", "The choir has a new conductor since Sunday."),
    "3": ("The old mill burned down last night.", "There was a fire in the old mill."),
    "4": ("A small dog is running over the wet grass.", "A dog is running over the grass."),
    "5": ("Tickets are sold at the door only.", "You can only buy tickets at the door."),
}
"""A level of the usual scale in our words -> two texts that it fits."""


def label_choices(labels: Sequence[str], told: Mapping[str, LabelText]) -> list[LabelChoice]:
    """The labels in the order in which a tied vote goes to the first: by number where all are numbers, else as text.

    >>> [one.value for one in label_choices(["10", "9"], {})]
    ['9', '10']
    """
    whole = all(label.isdecimal() for label in labels)
    order = sorted(labels, key=lambda label: (int(label) if whole else 0, label))
    return [
        LabelChoice(
            value=label,
            name=told.get(label, LabelText()).name or label.replace("_", " "),
            description=told.get(label, LabelText()).description,
        )
        for label in order
    ]


def scale_of(scale: Scale | None) -> Scale:
    """The scale that ratings are given on, with words for its levels: 0 to 5 in whole numbers if none is asked for.

    A scale of 0 to 5 without words has ours; on another one only the ends are named.
    """
    scale = scale or Scale()
    if scale.anchors:
        return scale
    if (scale.low, scale.high) == (0, 5):
        return scale.model_copy(update={"anchors": dict(ANCHORS)})
    ends = {f"{scale.low:g}": ANCHORS["0"], f"{scale.high:g}": ANCHORS["5"]}
    return scale.model_copy(update={"anchors": ends})


def guidelines(family: Family, labels: Sequence[LabelChoice] = (), scale: Scale | None = None) -> str:
    """Our guidelines of a family in Markdown, with these labels or levels in their place."""
    text = (files("embassay.protocols.hume.sampling") / "guidelines" / f"{family}.md").read_text("utf-8")
    scale = scale or Scale()
    return Template(text).substitute(
        labels="\n".join(_entry(one.name, one.description) for one in labels),
        levels="\n".join(_level(level, words) for level, words in scale.anchors.items()),
        low=f"{scale.low:g}", high=f"{scale.high:g}",
    )  # fmt: skip


def told_hash(tasks: Sequence[Task]) -> str:
    """A fingerprint of every word that annotators are told, and of the practice items."""
    shown = {"question", "guidelines", "labels", "scale", "practice"}
    return digest([task.model_dump(include=shown) for task in tasks])


def version_of(tasks: Sequence[Task]) -> str:
    """The version of the guidelines, which changes with any word: `1-` and the beginning of their fingerprint."""
    return f"{VERSION}-{told_hash(tasks)[:8]}"


def _level(level: str, words: str) -> str:
    """A level with its meaning, and with an example where both are ours."""
    if ANCHORS.get(level) != words or level not in EXAMPLES:
        return _entry(level, words)
    one, other = EXAMPLES[level]
    return f"{_entry(level, words)} Example: *{one}* and *{other}*"


def _entry(name: str, words: str) -> str:
    return f"- **{name}**: {words}" if words else f"- **{name}**"
