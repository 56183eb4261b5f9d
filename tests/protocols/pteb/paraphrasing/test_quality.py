"""Counts and means over the texts of a run, against a direct computation."""

from __future__ import annotations

from embassay.measures.correlation import edit_distance
from embassay.protocols.wordings.records import ParaphraseOutcome, make_wording_quality_rows, measure_wording_quality

ROWS = [
    ParaphraseOutcome("a b c", "en", "", "a x c d", "ok", seconds=0.2),
    ParaphraseOutcome("a b", "en", "", "a b", "copied", attempts=2, seconds=0.4, rejected="empty"),
    ParaphraseOutcome("q", "en", "", "a b", "ok", seconds=0.3),
    ParaphraseOutcome(
        "lang", "de", "", "", "too long", "900 characters", 6, seconds=6.0, rejected=";".join(["too long"] * 6)
    ),
    ParaphraseOutcome("gone", "de", "", "", "missing", attempts=0),
    ParaphraseOutcome(" ", "de", "", " ", "ok", attempts=0),
]


def test_counts_and_means():
    """Blank texts count nowhere; distances and lengths are of usable wordings, seconds of what a model was asked."""
    found = measure_wording_quality(ROWS)
    assert (found.texts, found.usable, found.failed, found.copied_text_count, found.asked) == (5, 3, 2, 1, 4)
    assert found.lost == 0.4
    assert found.outcomes == {"ok": 2, "copied": 1, "too long": 1, "missing": 1}
    assert found.rejected == {"empty": 1, "too long": 6}
    assert found.retries == 6
    assert found.duplicates == 2  # "a b" and "q" have one wording
    assert found.edit_distance == (edit_distance("a b c", "a x c d") + 0 + 1) / 3 == 0.5
    assert found.length_ratio == (7 / 5 + 1 + 3) / 3
    assert found.seconds == (0.2 + 0.4 + 0.3 + 6.0) / 4


def test_nothing_is_no_zero():
    """Without texts there are no means, and a reason why."""
    found = measure_wording_quality([])
    assert (found.texts, found.edit_distance, found.seconds, found.lost) == (0, None, None, 0.0)
    rows = make_wording_quality_rows(
        [ParaphraseOutcome("a", "en", "", "b", "ok")], dataset="d", system="s", variant="v", seed=7
    )
    seconds = next(row for row in rows if row.measure == "seconds")
    assert (seconds.value, seconds.n, seconds.reason) == (None, 0, "no language model was asked")
    assert all(bool(row.reason) == (row.value is None) for row in rows)


def test_result_rows():
    """One per measure for all texts and for each language, with unique keys."""
    rows = make_wording_quality_rows(ROWS, dataset="d", system="openai:m", variant="paraphrase:seed=1337", seed=1337)
    assert len({row.key for row in rows}) == len(rows)
    values = {(row.subset, row.measure): row.value for row in rows}
    assert {row.lang for row in rows if not row.subset} == {"mul"}
    assert values["", "failed"] == 2 / 5
    assert values["", "rejected:too long"] == 6 / 5
    assert values["", "failed:too long"] == 1 / 5
    assert values["en", "failed"] == 0
    assert values["de", "failed"] == 1
    assert values["", "copied"] == 1 / 5
    assert values["de", "edit_distance"] is None
    assert ("", "rejected:thinking") in values
    assert ("de", "rejected:thinking") not in values
    one = make_wording_quality_rows(ROWS[:3], dataset="d", system="s", variant="v", seed=1)
    assert {(row.subset, row.lang) for row in one} == {("", "en")}
