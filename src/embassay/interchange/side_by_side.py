"""PTEB's figure 5: texts and their paraphrases in every run, side by side, as SVG and PDF."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from embassay.errors import EmbassayError
from embassay.protocols.kernel.tables import format_score, replace_control_characters
from embassay.protocols.pteb.drops import TextWithWordings, draw_texts_with_wordings
from embassay.protocols.wordings.sets import ParaphraseSet

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NAME, NUMBER = "side_by_side", "pteb_figure5"
TEXTS, RUNS = 4, 6
"""Texts of a dataset that the figure shows, and runs of each."""
ACROSS, LINE = 84, 0.16
"""Letters of a line, and its height in inches."""


def read_texts_with_paraphrases(run: Path) -> Iterator[TextWithWordings]:
    """Texts of the first dataset and paraphraser of a run with their paraphrases; none where there is no set, or it
    cannot be read."""
    try:
        kept = ParaphraseSet.open(run)
        source = next(iter(kept.sources.values()), None)
        dataset = next(iter(source.datasets), None) if source is not None else None
        if source is None or dataset is None:
            return
        seeds = kept.list_kept_seeds(source.name, dataset)[:RUNS]
        yield from draw_texts_with_wordings(
            {seed: kept.rows(source.name, dataset, seed) for seed in seeds}, count=TEXTS
        )
    except EmbassayError:
        return


def draw_texts_with_wordings_figure(texts: Sequence[TextWithWordings]) -> Figure:
    """A block for each text: itself in bold, below it what each run made of it with its edit distance."""
    from matplotlib.figure import Figure as Drawn

    lines = [line for text in texts for line in _wrap_wordings_with_edit_distance(text)]
    figure = Drawn(figsize=(6.0, LINE * len(lines) + 0.5), layout=None)
    figure.text(0.02, 1 - 0.25 / figure.get_figheight(), "PTEB, figure 5: texts and paraphrases", weight="bold")
    for place, (said, distance, is_text) in enumerate(lines):
        up = 1 - (0.5 + LINE * place) / figure.get_figheight()
        # parse_math is off: a dollar sign in a text begins no formula.
        figure.text(0.02, up, said, fontsize=7, weight="bold" if is_text else "normal", va="top", parse_math=False)
        figure.text(0.98, up, distance, fontsize=7, ha="right", va="top", parse_math=False)
    return figure


def _wrap_wordings_with_edit_distance(text: TextWithWordings) -> Iterator[tuple[str, str, bool]]:
    """The written line, the edit distance behind its first one, and whether it is of the text itself."""
    yield from ((line, "", True) for line in _wrap_text_to_few_lines(text.text))
    for wording in text.wordings:
        said = wording.wording or f"({wording.outcome})"
        distance = "" if wording.edit_distance is None else format_score(wording.edit_distance, 2)
        first, *more = _wrap_text_to_few_lines(f"{wording.seed}: {said}")
        yield first, distance, False
        yield from ((f"      {line}", "", False) for line in more)
    yield "", "", False


def _wrap_text_to_few_lines(said: str) -> list[str]:
    return textwrap.wrap(replace_control_characters(" ".join(said.split())), ACROSS)[:4] or [""]
