"""Tables 14 and 16 from the record."""

from __future__ import annotations

from embassay.protocols.hume.record import Summary
from embassay.protocols.hume.tables import agreement_table, annotator_scores_table
from embassay.stats import Estimate


def test_agreement(small_record: Summary) -> None:
    """The headline with interval and band, extras in a fixed order, and why a pair has none."""
    table = agreement_table(small_record)
    names = [one.name for one in table.columns]
    assert (table.name, names[-6:]) == (
        "agreement", ["cohen_kappa", "percent_agreement", "alpha", "zeta", "answered_by", "reason"]
    )  # fmt: skip
    first, second = (dict(zip(names, row, strict=True)) for row in table.rows)
    assert (first["coefficient"], first["value"], first["low"], first["high"]) == ("fleiss_kappa", 0.31, 0.1, 0.5)
    assert (first["band"], first["trust"], first["alpha"], first["answered_by"]) == ("fair", "low", None, "simulated")
    assert (second["value"], second["reason"], second["answered_by"]) == (None, "one annotator", "people")


def test_intervals_of_further_coefficients(small_record: Summary) -> None:
    """Those that have one stand with it, and only those."""
    first = small_record.pairs[0]
    assert first.agreement is not None
    bars = {
        "cohen_kappa": Estimate(value=0.32, low=0.11, high=0.52, n=40),
        "alpha": Estimate(value=None, reason="constant"),
    }
    agreement = first.agreement.model_copy(update={"intervals": bars})
    pair = first.model_copy(update={"agreement": agreement})
    table = agreement_table(small_record.model_copy(update={"pairs": (pair, small_record.pairs[1])}))
    names = [one.name for one in table.columns]
    row = dict(zip(names, table.rows[0], strict=True))
    assert (row["cohen_kappa"], row["cohen_kappa_low"], row["cohen_kappa_high"]) == (0.32, 0.11, 0.52)
    assert "alpha_low" not in names
    assert len(table.rows[1]) == len(names)


def test_paper_agreement(paper: Summary) -> None:
    """Sixteen of 26 pairs have two annotators; Emotion reads fair (spec hume, ambiguity 17)."""
    table = agreement_table(paper)
    names = [one.name for one in table.columns]
    bands = {row[1]: row[names.index("band")] for row in table.rows if row[2] == "eng"}
    assert (bands["EmotionClassification"], bands["ArxivClusteringP2P"]) == ("fair", "none")
    assert sum(row[names.index("value")] is not None for row in table.rows) == 16


def test_annotators(small_record: Summary) -> None:
    """A row per annotator with both conventions of the pair, in points; a convention that is none stays empty."""
    table = annotator_scores_table(small_record)
    names = [one.name for one in table.columns]
    found = [dict(zip(names, row, strict=True)) for row in table.rows]
    assert [one["annotator"] for one in found] == ["ann", "bob", "cat"]
    assert names[8:13] == ["human", "by_paper", "by_pooled", "by_mean", "by_first"]
    assert (found[0]["score"], found[0]["by_pooled"], found[0]["by_mean"]) == (65.0, 70.0, 67.5)
    assert (found[1]["answered_by"], found[1]["flagged"], found[2]["by_pooled"]) == ("simulated", 2, None)
    assert "n/a" in table.format_table_as_markdown()
    assert table.as_csv().count("\n") == 4
