"""What `embassay hume sample` can be told of one dataset, besides what all commands take, and the request it makes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from embassay.cli.options import column_map
from embassay.errors import UsageError
from embassay.protocols.options import option

if TYPE_CHECKING:
    from embassay.protocols.hume.sampling import SampleRequest

Words = list[str] | None


@dataclass(frozen=True)
class Drawing:
    """Settings of the tasks that are drawn; in a file, every task has its own."""

    label: Words = option(None, "What a label means, for people: joy='Happy, pleased.'. Repeatable.")  # noqa: RUF009
    label_name: Words = option(None, "The word for a label on its button: 0=sadness. Repeatable.")  # noqa: RUF009
    guidelines: str | None = option(None, "Your own guidelines, a file in Markdown.")
    question: str = option("", "Your own question above every item.")
    scale: str | None = option(None, "Scale of ratings, LOW-HIGH[:STEP]: 0-5:0.5. Default: 0-5.")
    groups: int | None = option(None, "Gold clusters to draw from. Default: 6 or 5.")
    relevant: int = option(3, "Relevant documents per query, at most.")
    candidates: int = option(7, "Documents per query.")
    negatives: Literal["auto", "lists", "bm25"] = option(
        "auto", "Hard negatives from the data's own lists or found by bm25; auto: lists if there are any."
    )
    against: Words = option(None, "Data that models train on, to look for the items' texts in. Repeatable.")  # noqa: RUF009
    drop_leaked: bool = option(False, "Leave out texts that are also in the training data.")
    practice: int = option(3, "Items to practise on, per task.")

    def as_content(self) -> dict[str, Any]:
        """The keys of a task in a file. Raises UsageError for a label or a scale that cannot be read."""
        from embassay.protocols.hume.sampling.config import read_guidelines

        return {
            "labels": labels_of(self.label or (), self.label_name or ()),
            "guidelines": self.guidelines and read_guidelines(self.guidelines),
            "question": self.question, "scale": self.scale and scale_of(self.scale), "groups": self.groups,
            "relevant": self.relevant, "candidates": self.candidates,
            "negatives": None if self.negatives == "auto" else self.negatives,
            "against": self.against or [], "drop_leaked": self.drop_leaked, "practice": self.practice,
        }  # fmt: skip


@dataclass(frozen=True)
class Asked:
    """Which data to draw from, by the options that other commands have too."""

    datasets: Sequence[str]
    families: Sequence[str]
    n: int | None
    lang: Sequence[str]
    mapping: Sequence[str]
    split: str | None
    grades: str | None

    @property
    def is_empty(self) -> bool:
        """Whether none was given."""
        return not any(
            (self.datasets, self.families, self.n, self.lang, self.mapping, self.split, self.grades)
        )

    def request(self, name: str, own: Drawing) -> SampleRequest:
        """The request for one study of all datasets. Raises UsageError where there are none."""
        from embassay.protocols.hume.sampling.config import checked

        if not self.datasets:
            raise UsageError(
                "There is nothing to sample from.",
                mend="Give -d DATASET, or --config FILE; -d sample to try it out.",
            )
        one = {
            "family": list(self.families), "n": self.n, "lang": list(self.lang),
            "map": column_map(list(self.mapping)), "split": self.split, "grades": self.grades, **own.as_content(),
        }  # fmt: skip
        return checked({"name": name, "tasks": [{"data": data, **one} for data in self.datasets]})


def labels_of(told: Sequence[str], names: Sequence[str]) -> dict[str, dict[str, str]]:
    """Label -> what people are told of it, from LABEL=WORDS.

    >>> labels_of(["0=Low spirits."], ["0=sadness"])
    {'0': {'description': 'Low spirits.', 'name': 'sadness'}}
    """
    labels: dict[str, dict[str, str]] = {}
    for flag, key, entries in (("--label", "description", told), ("--label-name", "name", names)):
        for entry in entries:
            value, found, words = (part.strip() for part in entry.partition("="))
            if not (value and found and words):
                raise UsageError(f"Cannot read {flag} {entry!r}.", mend=f"Write {flag} LABEL='words'.")
            labels.setdefault(value, {})[key] = words
    return labels


def scale_of(text: str) -> dict[str, float]:
    """A scale from LOW-HIGH or LOW-HIGH:STEP.

    >>> scale_of("1-4:0.5")
    {'low': 1.0, 'high': 4.0, 'step': 0.5}
    """
    number = r"(-?\d+(?:\.\d+)?)"
    found = re.fullmatch(rf"{number}-{number}(?::(\d+(?:\.\d+)?))?", text.strip())
    if found is None or not float(found[1]) < float(found[2]):
        raise UsageError(
            f"Cannot read --scale {text!r}.", mend="Write LOW-HIGH or LOW-HIGH:STEP, as 1-4:0.5."
        )
    return {"low": float(found[1]), "high": float(found[2]), "step": float(found[3] or 1)}
