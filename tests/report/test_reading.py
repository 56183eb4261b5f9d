"""How to read the report, whom to cite, and under which licence data stands."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from embassay.document.blocks import Heading, TermDefinitions
from embassay.protocols.kernel.outcome import PAPERS, PROTOCOLS, list_paper_citations
from embassay.registry import import_attribute
from embassay.report import write_report
from embassay.report.kinds import SCALES, WORDINGS, explain_how_to_read_report
from embassay.report.method import OWN, SAMPLE, find_dataset_licence, make_methods_page
from embassay.report.overview import VERDICTS
from embassay.report.record import KINDS
from embassay.report.runs import PAGES, read_report_runs, run_kind_title
from report.pages import every

MakeRun = Callable[..., Path]


def test_every_kind_of_run_has_its_words() -> None:
    """A new kind must say what it asks, what its scale means and does not mean, how it is made, and what to cite."""
    for words in (SCALES, WORDINGS):
        assert set(words) == set(KINDS)
    assert [page.name for page in PAGES if not page.package] == list(KINDS)
    assert all(page.summary and run_kind_title(page.name) and page.load() for page in PAGES)
    assert set(VERDICTS) == set(KINDS) - {"original"}
    assert all(callable(import_attribute(f"embassay.report.{place}")) for place in VERDICTS.values())
    assert set(PROTOCOLS) | {"mteb", "choose"} == set(KINDS)
    assert all(scale.question.endswith("?") and scale.means and scale.does_not for scale in SCALES.values())


def test_the_page_has_the_scales_of_its_runs_alone(plain_run: Path, pteb_run: Path) -> None:
    """Marks, verbs and states always; a scale per kind of run, once."""
    page = tuple(explain_how_to_read_report(read_report_runs([plain_run, pteb_run])))
    scales = [one.id for one in every(page, Heading) if one.level == 3]
    assert scales == ["reading-sage", "reading-pteb"]
    terms = {one.title: one for terms in every(page, TermDefinitions) for one in terms.terms}
    assert {"cannot be told apart from", "may be first"} <= set(terms)
    assert "under 0.05" in terms["beats"].means
    assert "(Holm)" in terms["Rank 1–2"].means
    assert (
        len({one.id for one in terms.values()})
        == len(terms)
        == sum(len(one.terms) for one in every(page, TermDefinitions))
    )


def test_pages_link_to_how_they_are_read(plain_run: Path, pteb_run: Path, tmp_path: Path) -> None:
    """Every page of a kind leads to its scale; overview, systems and method to the page."""
    page = write_report([plain_run, pteb_run], out=tmp_path / "out.html").read_text("utf-8")
    parts = (part.partition(" ") for part in page.split("<section class=view id=")[1:])
    views = {view: text for view, _, text in parts}
    assert set(views) == {"overview", "sage", "pteb", "systems", "items", "reading", "method"}
    for view in ("overview", "systems", "method"):
        assert "href=#reading>" in views[view], view
    for view in ("sage", "pteb"):
        assert f"href=#reading-{view}>" in views[view]


def test_the_four_papers_are_cited_those_used_first() -> None:
    """All four, each as a sentence and as BibTeX of the same authors and title."""
    found = list_paper_citations({"names", "sweep"})
    assert [one.paper.title for one in found] == ["RAG", "SAGE", "PTEB", "HUME"]
    assert [one.used for one in found] == [True, False, False, False]
    for paper in PAPERS.values():
        author = re.search(r"author = \{([^}]*)\}", paper.bibtex)
        assert author is not None
        assert all(name in paper.said for name in author[1].split(" and "))
        title = re.search(r"title = \{(.*)\}", paper.bibtex)
        assert title is not None
        assert title[1].replace("{", "").replace("}", "") in paper.said
        year = re.search(r"year = \{(\d+)\}", paper.bibtex)
        assert year is None or year[1] in paper.said


def test_method_cites_what_the_report_used(plain_run: Path, pteb_run: Path, tmp_path: Path) -> None:
    """BibTeX of the papers behind its runs, once; the others are named."""
    page = write_report([plain_run, pteb_run], out=tmp_path / "out.html").read_text("utf-8")
    assert page.count("@inproceedings{goel2025sage") == 1
    assert page.count("@inproceedings{frank2026pteb") == 1
    assert "dallaire2025practical" not in page
    assert page.count("(not used in this report)") == 2


@pytest.mark.parametrize(
    ("source", "licence"),
    [
        ("sample", SAMPLE),
        ("scifact", "cc-by-nc-4.0"),
        ("trec-covid", "see source"),
        ("no-such-set", OWN),
        ("./folder", OWN),
        ("table.csv", OWN),
        ("", OWN),
        ("gone.yaml", OWN),
    ],
)
def test_licences_are_those_of_the_catalogue(source: str, licence: str) -> None:
    """What nobody recorded is said to be unrecorded."""
    assert find_dataset_licence(source) == licence


def test_a_description_may_say_its_licence(tmp_path: Path) -> None:
    """A broken one, or one that is silent, is own data."""
    path = tmp_path / "set.yaml"
    path.write_text("name: set\nlicence: CC BY 4.0\n")
    assert find_dataset_licence(str(path)) == "CC BY 4.0"
    for text in ("name: set\n", "- 1\n", "{", "\udcff"):
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
        assert find_dataset_licence(str(path)) == OWN


def test_later_parts_of_method_do_not_repeat_the_machine(plain_run: Path, make_run: MakeRun, pteb_run: Path) -> None:
    """Machine and versions once where they are the same; run, seed and manifest of each."""
    parts = make_methods_page(read_report_runs([plain_run, make_run(datasets=("other",)), pteb_run])).parts
    facts = [dict(part.facts) for part in parts]
    assert "processor" in facts[0]
    assert "processor" not in facts[1]
    assert all("seed" in one and "manifest.json, SHA-256" in one for one in facts)
    assert len({one["manifest.json, SHA-256"] for one in facts}) == 3
