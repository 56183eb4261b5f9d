"""A run in which all systems but one have no value."""

from __future__ import annotations


def test_the_report_is_written(embassay, tmp_path) -> None:
    """Pairs without a common word: the lexical system does not vary, so nothing stands against the baseline."""
    things = ("lamp", "chair", "desk", "plant", "mirror", "carpet")
    rows = [f"the {thing} stands,some {thing[::-1]} lies,{n}" for n, thing in enumerate(things)]
    (tmp_path / "pairs.csv").write_text("text,text2,score\n" + "\n".join(rows) + "\n")
    embassay(
        "pteb", "run", "-s", "jaccard", "-s", "wordllama", "-d", "pairs.csv", "-t", "sts", "--paraphraser", "permuted",
        "--runs", "2", "--tokenizer", "words", "--out", "run"
    )  # fmt: skip
    assert "jaccard" in (tmp_path / "run" / "report.html").read_text(encoding="utf-8")
