"""The Markdown report: its numbers are the record's, and text of data stays text."""

from __future__ import annotations

from pathlib import Path

import pytest

from embassay.protocols.hume.record import SeparationSampleSize, Summary
from embassay.protocols.hume.results.markdown import render_markdown_report, write_markdown_report


def test_paper(paper: Summary) -> None:
    """The paper's findings in words, with the counts of spec hume 10."""
    text = render_markdown_report(paper)
    assert "Over 26 pairs, people score 77.6 and rank 4 of 14; the best model, jasper, scores 80.1." in text
    assert "above the interval of people on 12 of 26 pairs and below it on 2" in text
    assert "People are above the best model on 4 of 26 pairs and above the median model on 16." in text
    assert "Agreement is high on 6, medium on 5 and low on 5 of 16 pairs" in text
    assert "Agreement is unknown on 10 pairs." in text
    assert text.count("\\* |") == 14
    assert "| EmotionClassification (eng) | 48 | 45.8 (32.6–59.7) | fair 0.39" in text
    assert "simulated" not in text
    assert len(text) < 8000


def test_simulated_annotators_are_called_so(small_record: Summary) -> None:
    """First of all, and in the heading of the column."""
    first = small_record.model_copy(update={"pairs": small_record.pairs[:1]})
    text = render_markdown_report(first)
    assert text.index("**All annotators are simulated") < text.index("## What it says")
    assert "| simulated annotators |" in text
    assert "**Some annotators are simulated" in render_markdown_report(small_record)


def test_hostile_names(small_record: Summary) -> None:
    """A name with a table's bar, a tag or a line break stays one cell of text."""
    pair = small_record.pairs[0].model_copy(update={"dataset": "a|b <script>\n# x", "flags": ("*bold* [x](y)",)})
    text = render_markdown_report(small_record.model_copy(update={"pairs": (pair,), "title": "<b>title"}))
    assert "# \\<b\\>title" in text
    assert "a\\|b \\<script\\> \\# x (eng)" in text
    assert "<script>" not in text
    assert "\\*bold\\* \\[x\\](y)" in text


@pytest.mark.parametrize(
    ("need", "said"),
    [
        (
            SeparationSampleSize(system="m", items=1200, annotators=4, smallest=0.21),
            "separating m takes about 1,200 items (40 now) with these annotators, or 4 annotators (2 now) with these "
            "items. This study could detect a difference of 21.0.",
        ),
        (
            SeparationSampleSize(system="m", items=38, annotators=2, smallest=0.1),
            "40 items are enough to distinguish m from simulated annotators.",
        ),
        (
            SeparationSampleSize(system="m", items=None, annotators=None, smallest=0.3, note="No number would do."),
            "This study could detect a difference of 30.0. No number would do.",
        ),
        (SeparationSampleSize(system="m", items=None, annotators=None, smallest=None), ""),
    ],
)
def test_needs(small_record: Summary, need: SeparationSampleSize, said: str) -> None:
    """What would set the best model apart, or why nothing would."""
    pair = small_record.pairs[0].model_copy(update={"need": need, "advice": ""})
    text = render_markdown_report(small_record.model_copy(update={"pairs": (pair,)}))
    assert (said in text) if said else ("## What to do" not in text)


def test_written(small_record: Summary, tmp_path: Path) -> None:
    """Beside the record, the same bytes each time."""
    first = write_markdown_report(tmp_path, small_record).read_bytes()
    assert write_markdown_report(tmp_path, small_record) == tmp_path / "report.md"
    assert (tmp_path / "report.md").read_bytes() == first


def test_nothing() -> None:
    """A record without pairs, or without a model, has a report too."""
    empty = Summary(title="none", source="study", seed=1, pairs=())
    assert "no dataset-language pairs" in render_markdown_report(empty)


def test_people_alone(small_record: Summary) -> None:
    """Without a model there is nothing to set against people."""
    text = render_markdown_report(small_record.model_copy(update={"pairs": small_record.pairs[1:]}))
    assert "Nothing can be compared" in text
    assert "| Topics (dan) | 30 | 50.0 | one annotator | – | – | – |" in text
