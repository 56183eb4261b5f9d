"""HTEB in the report: verdicts by axis, profiles, one family with PTEB, and what cards say."""

import pytest

import embassay as eb
from embassay.document.blocks import Heading, StyledBlockGroup, convert_sentence_to_text
from embassay.protocols.hteb.options import AXES, HtebOptions
from embassay.report import write_report
from embassay.report.cards.card import make_system_cards
from embassay.report.hteb.profile import hteb_page, hteb_verdict, make_score_changes_of_systems
from embassay.report.runs import read_report_runs
from report.pages import every, tables

RECORDED = {"tokenizer": "words", "runs": 1, "limit": 14}


@pytest.fixture(scope="module")
def family(tmp_path_factory):
    """A run of PTEB and one of HTEB on the same pairs."""
    folder = tmp_path_factory.mktemp("family")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBASSAY_CACHE", str(folder / "cache"))
        pteb = eb.pteb.PtebOptions(languages="pooled", resamples=200)
        eb.pteb.run(["wordllama", "jaccard"], tasks=("sts",), out=folder / "pteb", **RECORDED, options=pteb)
        hteb = HtebOptions(languages="reference", resamples=200)
        eb.hteb.run(["wordllama", "jaccard"], tasks=("sts",), out=folder / "hteb", **RECORDED, options=hteb)
    return folder


def test_the_page_has_a_profile_of_every_system(family):
    """Its axes drawn on one scale, and a table with original, paraphrased, axes and total."""
    [run] = read_report_runs([family / "hteb"])
    blocks = list(hteb_page(run, True))
    assert {"hteb-profiles", "hteb-transformations", "hteb-datasets"} <= {one.id for one in every(blocks, Heading)}
    panels = next(one for one in blocks if isinstance(one, StyledBlockGroup))
    assert len(panels.blocks) == 2
    profile = tables(blocks)["hteb-profile"]
    assert [convert_sentence_to_text((one.title,)) for one in profile.heads] == [
        "Original", "Paraphrased", "Lexical and style", "Length", "Language", "All axes", "HTEB total",
    ]  # fmt: skip
    assert len(profile.lines) == 4


def test_the_verdict_names_the_axis_on_which_most_is_lost(family):
    """That with the lowest change, of the systems that lose most there; its heading claims it only where a loss is
    certain: an interval below 0."""
    [run] = read_report_runs([family / "hteb"])
    found = [one for one in make_score_changes_of_systems(run.record, run.board) if one.row.system.ranked]
    verdict = hteb_verdict(run.record, run.board)
    certain = any(row.ci_high < 0 for one in found for row in one.axes.values())
    heading, whole = (
        convert_sentence_to_text(verdict.heading),
        " ".join(map(convert_sentence_to_text, (verdict.heading, *verdict.lede))),
    )
    assert ("No system has a clear loss" in heading) == (not certain)
    titles = {"style": "lexical and style", "length": "length", "language": "language"}
    assert any(f"the {titles[one.worst[0]]} axis" in whole for one in found)


def test_both_protocols_are_one_family(family):
    """Under one heading of the navigation, cited both; a card asks nothing of axes that were tested."""
    runs = read_report_runs([family / "pteb", family / "hteb"])
    assert [run.record.kind for run in runs] == ["pteb", "hteb"]
    page = write_report([family / "pteb", family / "hteb"], out=family / "both.html").read_text("utf-8")
    assert "Beyond One-dimensional Static Robustness" in page
    cards = {card.row.system.name: card for card in make_system_cards(runs)}
    said = " ".join(cards["wordllama"].unknown)
    assert "styles, lengths and languages (HTEB)" not in said
    assert AXES["language"].lower() in said + " ".join(
        convert_sentence_to_text(one.format_clause_as_sentence)
        for one in (*cards["wordllama"].good, *cards["wordllama"].bad)
    )
    assert any("hteb run" in command for command in cards["wordllama"].commands)
