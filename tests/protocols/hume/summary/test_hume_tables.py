"""Tables 14 and 16 from the record."""

from __future__ import annotations

from semblance.protocols.hume.summary.record import Summary
from semblance.protocols.hume.summary.tables import agreement_table, annotators_table


def test_agreement(small_record: Summary) -> None:
    """The headline with interval and band, extras in a fixed order, and why a pair has none."""
    table = agreement_table(small_record)
    names = [one.name for one in table.columns]
    assert (table.name, names[-6:]) == (
        "agreement", ["cohen_kappa", "percent_agreement", "alpha", "zeta", "answered_by", "reason"]
    )  # fmt: skip
    first, second = (dict(zip(names, row, strict=True)) for row in table.rows)
    assert (first["coefficient"], first["value"], first["low"], first["high"]) == (
        "fleiss_kappa",
        0.31,
        0.1,
        0.5,
    )
    assert (first["band"], first["trust"], first["alpha"], first["answered_by"]) == (
        "fair",
        "low",
        None,
        "simulated",
    )
    assert (second["value"], second["reason"], second["answered_by"]) == (None, "one annotator", "people")


def test_paper_agreement(paper: Summary) -> None:
    """Sixteen of 26 pairs have two annotators; Emotion reads fair (spec hume, ambiguity 17)."""
    table = agreement_table(paper)
    names = [one.name for one in table.columns]
    bands = {row[1]: row[names.index("band")] for row in table.rows if row[2] == "eng"}
    assert (bands["EmotionClassification"], bands["ArxivClusteringP2P"]) == ("fair", "none")
    assert sum(row[names.index("value")] is not None for row in table.rows) == 16


def test_annotators(small_record: Summary) -> None:
    """A row per annotator with both conventions of the pair, in points; a convention that is none stays empty."""
    table = annotators_table(small_record)
    names = [one.name for one in table.columns]
    found = [dict(zip(names, row, strict=True)) for row in table.rows]
    assert [one["annotator"] for one in found] == ["ann", "bob", "cat"]
    assert names[8:13] == ["human", "by_paper", "by_pooled", "by_mean", "by_first"]
    assert (found[0]["score"], found[0]["by_pooled"], found[0]["by_mean"]) == (65.0, 70.0, 67.5)
    assert (found[1]["answered_by"], found[1]["flagged"], found[2]["by_pooled"]) == ("simulated", 2, None)
    assert "n/a" in table.as_markdown()
    assert table.as_csv().count("\n") == 4
