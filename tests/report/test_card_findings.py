"""What model cards say: every number is in the results, every verb has its test, and what is not known is told."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

import embassay as eb
from embassay.document.blocks import convert_sentence_to_text
from embassay.protocols.hume.record import read_summary
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.tables import POINTS, SCORE
from embassay.report import write_report
from embassay.report.cards.card import SystemCard, make_system_cards
from embassay.report.cards.findings import SystemFinding
from embassay.report.record import RunRecord
from embassay.report.runs import ReportRun, read_report_runs

from .hume_run import study, write_hume_run

MakeRun = Callable[..., Path]
NUMBER = re.compile(r"−?\d[\d,]*(?:\.\d+)?%?")
HOSTILE = "</script><script>alert(1)</script><img src=x onerror=alert(1)> & 'q' \"d\" {{ 7*7 }}"


def cards(*paths: Path) -> dict[str, SystemCard]:
    return {card.row.system.name: card for card in make_system_cards(read_report_runs(paths)) or ()}


def sentences(card: SystemCard) -> Iterator[str]:
    """Every generated sentence without the names in it."""
    for one in (*card.sentences, *card.price.sentences, *(found.clause for found in (*card.good, *card.bad))):
        yield " | ".join(part for part in one if isinstance(part, str))
    yield from (said for one in card.people for said in one.sentences)


def of_rows(record: RunRecord) -> Iterator[str]:
    """Values and ends of intervals in either unit, shares with their counts and complements, n."""
    for row in record.rows.values():
        for value in (row.value, row.ci_low, row.ci_high):
            if value is not None:
                yield from (
                    SCORE.format_value_in_text(value),
                    POINTS.format_value_in_text(value),
                    POINTS.format_value_in_text(-value),
                    numbers.format_score(value, 1),
                    f"{numbers.format_score(value, 1)}%",
                )
                yield from (
                    numbers.format_percent(value),
                    numbers.format_percent(1 - value),
                    numbers.format_percent(value, 1),
                )
                yield from (numbers.format_count(round(one * row.n)) for one in (value, 1 - value))
        yield numbers.format_count(row.n)


def of_record(record: RunRecord) -> Iterator[str]:
    """What else a sentence may say of a run: ranks and counts of systems, cells, cut texts, trivial scores."""
    yield from of_rows(record)
    yield from (numbers.format_count(n) for n in range(len(record.cells) + len(record.systems) + 1))
    yield from ("95%", "0.500", "0.333", "0")
    for system in record.systems:
        cells = [cell for cell in record.cells if cell.system == system.name]
        cut = sum(cell.counts.get("texts_truncated", 0) for cell in cells)
        encoded = sum(cell.counts.get("texts_encoded", 0) for cell in cells)
        seen = encoded + sum(cell.counts.get("texts_cached", 0) for cell in cells)
        seconds = sum(cell.seconds or 0.0 for cell in cells)
        yield from (
            numbers.format_count(cut),
            numbers.format_count(seen),
            numbers.format_count(system.facts.get("max_tokens") or 0),
        )
        yield from ([numbers.format_percent(cut / seen, 1)] if seen else [])
        yield from ([numbers.format_count(round(encoded / seconds))] if seconds else [])


def of_summary(path: Path) -> Iterator[str]:
    """What HUME adds: means over the pairs of a family, and the ends of intervals of people."""
    for pair in read_summary(path).pairs:
        bars = [pair.human, *(one.score for one in (*pair.models, *pair.llms))]
        for bar in bars:
            yield from (POINTS.text(end)[:-1] for end in (bar.value, bar.low, bar.high) if end is not None)
            yield from (numbers.format_score(100 * end, 1) for end in (bar.value, bar.low, bar.high) if end is not None)
        if pair.agreement is not None and pair.agreement.value.value is not None:
            yield numbers.format_score(pair.agreement.value.value, 2)
    for place in read_summary(path).places:
        if place.mean.value is not None:
            yield numbers.format_score(100 * place.mean.value, 1)


def strangers(card: SystemCard, runs: tuple[ReportRun, ...]) -> set[str]:
    """Numbers in its sentences that no record of the runs has."""
    known = {one for run in runs for one in of_record(run.record)}
    known |= {one for run in runs if (run.record.path / "summary.json").exists() for one in of_summary(run.record.path)}
    found = {one for said in sentences(card) for one in NUMBER.findall(ITSELF.sub("", said))}
    return found - known


ITSELF = re.compile(r"nDCG@10|N-Recall4\+@10|RA-nWG@\d+|\bp50\b|SIB-200")
"""Digits in names."""


def shapes() -> list[dict[str, Any]]:
    return [
        {},
        {"levels": {"aster-large": 0.9, "birch-base": 0.9, "jaccard": 0.89, "bm25": 0.88}},
        {"levels": {"aster-large": 0.2, "birch-base": 0.95}},
        {"failed": (("retrieval", "sample", "birch-base"),)},
        {"systems": {"bm25": "classical"}},
        {"tasks": ("robustness",)},
        {"datasets": ("one", "two"), "failed": (("clustering", "two", "aster-large"),)},
        {"documents": 200, "queries": 120},
    ]


@pytest.mark.parametrize("fields", shapes())
def test_every_number_of_a_sage_card_is_in_the_results(make_run: MakeRun, fields: dict[str, Any]) -> None:
    """No sentence or finding holds a number that the record does not."""
    runs = read_report_runs([make_run(**fields)])
    for card in make_system_cards(runs) or ():
        assert not strangers(card, runs), [*sentences(card)]


@pytest.mark.parametrize("fields", [{}, {"lost": {"aster-large": 0.2, "bm25": 0.0}}, {"runs": 1}, {"n": 400}])
def test_every_number_of_a_pteb_card_is_in_the_results(make_pteb: MakeRun, fields: dict[str, Any]) -> None:
    """The same in points."""
    runs = read_report_runs([make_pteb(items=False, **fields)])
    for card in make_system_cards(runs) or ():
        assert not strangers(card, runs), [*sentences(card)]


@pytest.mark.parametrize("kind", ["simulated", "person"])
def test_every_number_against_people_is_in_the_record(plain_run: Path, tmp_path: Path, kind: str) -> None:
    """Scores, places and means of families; scripts are never called people."""
    made = study(kind=kind)
    runs = read_report_runs([plain_run, write_hume_run(tmp_path / "hume", made)])
    families = {pair.family for pair in made.pairs}
    assert len(families) == len(made.pairs), "a mean over one pair is that pair's value"
    found = make_system_cards(runs) or ()
    for card in found:
        assert not strangers(card, runs), [*sentences(card)]
    said = " ".join(said for card in found for one in card.people for said in one.sentences)
    assert ("people" in said) == (kind == "person")
    assert ("simulated annotators" in said) == (kind == "simulated")


@pytest.mark.parametrize("width", [0.01, 0.12])
def test_a_wide_interval_is_no_merit(make_pteb: Callable[..., Path], width: float) -> None:
    """What keeps its score for sure is good at it; what may as well lose twelve points is not known."""
    path = make_pteb(lost={"bm25": 0.0}, items=False)
    rows = [json.loads(line) for line in (path / "results.jsonl").read_text().splitlines()]
    for row in rows:
        if row["system"] == "bm25" and row["measure"] == "delta":
            row["value"], row["ci_low"], row["ci_high"] = -0.001, -width, 0.01
    (path / "results.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    card = cards(path)["bm25"]
    said = " ".join(convert_sentence_to_text(one.clause) for one in card.good)
    assert ("loses little or nothing" in said) == (width < 0.02)
    assert any("is uncertain" in one for one in card.unknown) == (width > 0.02)


def test_the_card_says_where_a_system_stands_beside_people(tmp_path: Path) -> None:
    """Above and below the interval of people exactly where the record says outside; agreement beside it."""
    made = study()
    card = cards(write_hume_run(tmp_path / "hume", made))["wordllama"]
    own = [(pair, next(one for one in pair.models if one.system == "wordllama")) for pair in made.pairs]
    above = [pair for pair, one in own if one.outside and (one.score.value or 0) > (pair.human.value or 0)]
    assert [pair.dataset for pair in above] == ["TweetEval emotion"]
    (people,) = card.people
    assert (
        "above the interval of simulated annotators on 1 (TweetEval emotion (eng), agreement: fair 0.31)"
        in (people.sentences[1])
    )
    assert [line.name for line in people.lines] == [pair.name for pair, _ in own]
    # Annotators who agree that little are passed by luck: it is told, and is nothing that the system is good at.
    assert above[0].trust == "low"
    assert "above the interval" not in " ".join(convert_sentence_to_text(one.clause) for one in card.good)


def verbs(found: tuple[SystemFinding, ...], verb: str) -> str:
    return " ".join(
        convert_sentence_to_text(one.clause) for one in found if convert_sentence_to_text(one.clause).startswith(verb)
    )


@pytest.mark.parametrize("fields", shapes())
def test_verbs_are_those_of_the_tests(make_run: MakeRun, fields: dict[str, Any]) -> None:
    """*Beats every other* where the rank is 1 alone, *is beaten by every other* where it is the last alone, *may be
    first* where the range includes 1 and not every place."""
    runs = read_report_runs([make_run(**fields)])
    record, board = runs[0].record, runs[0].board
    for card in make_system_cards(runs) or ():
        if not card.row.system.ranked:
            continue
        for task in board.tasks:
            ranges = record.rank_range(task.name, card.row.system.name)
            of, word = len(record.find_task_comparisons(task.name).systems), task.short.lower()
            tested = ranges is not None and of > 1
            assert (word in verbs(card.good, "beats every other")) == (tested and ranges == (1, 1))
            assert (word in verbs(card.bad, "is beaten by every other")) == (tested and ranges == (of, of))
            maybe = tested and ranges is not None and ranges[0] == 1 and ranges not in ((1, 1), (1, of))
            assert (word in verbs(card.good, "may be first")) == maybe


def test_two_sentences_stand_on_every_ranked_card(plain_run: Path, pteb_run: Path) -> None:
    """The first has the ranks of both runs, the second what breaks it; references have one."""
    found = cards(plain_run, pteb_run)
    aster = [convert_sentence_to_text(one) for one in found["aster-large"].sentences]
    assert aster[0].startswith("aster-large has rank 1 of 3 systems overall in SAGE, ")
    assert "overall in PTEB, " in aster[0]
    assert all(len(card.sentences) == (2 if card.row.system.ranked else 1) for card in found.values())
    birch = convert_sentence_to_text(found["birch-base"].sentences[1])
    assert birch.startswith("It failed 1 of 5 cells (retrieval on sample: out of memory)")


def test_what_noise_does_is_a_share_of_documents(make_run: MakeRun) -> None:
    """`above_summary` 0.9 is no break; `below_summary` 0.09 of 48 is 44 documents put no lower."""
    card = cards(make_run())["aster-large"]
    said = [convert_sentence_to_text(one.clause) for one in card.bad]
    assert "rates copies with negations at least as close as a summary for 44 of 48 (91%) documents" in said
    assert not [one for one in said if "no closer than a summary" in one]


def test_what_is_not_known_is_told(plain_run: Path, make_run: MakeRun) -> None:
    """Questions that no run asked, tasks that are missing, small n, values without interval."""
    card = cards(plain_run)["birch-base"]
    assert card.unknown[0].startswith(
        "Not tested here: how much paraphrases lower its scores (PTEB), how much other styles, lengths"
    )
    assert "No score because of failed cells: retrieval on sample." in card.unknown
    assert "No interval: Clustering on sample." in card.unknown
    assert "It is unknown whether it was trained on this data." in card.unknown
    few = cards(make_run(tasks=("robustness", "sensitivity"), documents=12))["bm25"]
    assert "Preference, Clustering and Retrieval were not part of the run." in few.unknown
    assert "Based on fewer than 30 items: Robustness on sample (n = 12), Sensitivity on sample (n = 12)." in few.unknown
    assert not [one for one in few.unknown if "trained" in one]


def test_one_name_for_two_models_is_told(make_run: MakeRun, make_pteb: MakeRun) -> None:
    """Runs that share a name but not the identity behind it cannot be read together without a word."""
    first, second = make_run(), make_pteb(items=False)
    manifest = json.loads((second / "manifest.json").read_text())
    for one in manifest["systems"]:
        one["identity"] = f"{one['name']} 1" if one["name"] != "aster-large" else "aster-large 2"
    (second / "manifest.json").write_text(json.dumps(manifest))
    found = cards(first, second)
    told = {name: [one for one in card.unknown if "identity is not the same" in one] for name, card in found.items()}
    assert len(told["aster-large"]) == 1
    assert told["birch-base"] == []


def test_price_and_time_are_those_of_the_manifest(make_run: MakeRun) -> None:
    """A price per million tokens with its day, what was paid, the pace, and who is faster and not beaten."""
    run = make_run(levels={"aster-large": 0.9, "birch-base": 0.895})
    manifest = json.loads((run / "manifest.json").read_text())
    for one in manifest["systems"]:
        if one["name"] == "aster-large":
            one["facts"]["usd_per_million_tokens"] = 0.13
    for cell in manifest["cells"]:
        if cell["system"] == "birch-base":
            cell["seconds"] = 0.6
    paid = {"requests": 4, "input_tokens": 12_000, "usd": 0.00156, "retries": 0, "failed": 0, "seconds": 1.0}
    manifest["spent"] = {"usd": 0.00156, "max_usd": None, "systems": {"aster-large": paid}}
    (run / "manifest.json").write_text(json.dumps(manifest))
    found = cards(run)
    price = found["aster-large"].price
    assert price.price == "Price: $0.1300 per million tokens, as of 20 Nov 2026."
    assert (price.runs[0].paid, price.runs[0].encoded, price.runs[0].pace) == ("$0.0016", "15,000", "2,500")
    assert [convert_sentence_to_text(one) for one in price.sentences] == [
        "It encodes 2,500 texts per second. Faster, and not beaten by it overall in SAGE: birch-base (5,000 texts per "
        "second)."
    ]
    assert found["birch-base"].price.price == "Price: none, because it runs on your machine."
    assert found["birch-base"].price.sentences == ()
    assert found["jaccard"].price.runs[0].pace == ""


def test_an_unknown_price_is_told(make_run: MakeRun) -> None:
    """A server without a listed price is neither free nor silent."""
    run = make_run()
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["systems"][0]["facts"]["usd_per_million_tokens"] = None
    (run / "manifest.json").write_text(json.dumps(manifest))
    card = cards(run)["aster-large"]
    assert card.price.price == "Price: not known."
    assert "Its price is unknown; add price= to its name." in card.unknown


def test_datasets_are_ranked_by_the_tests_of_tasks(tmp_path: Path, make_run: MakeRun) -> None:
    """Where a task has two datasets, those on which a system beats all others are named with their values."""
    import numpy as np

    from embassay.protocols.kernel.comparisons import SystemHeadlineValue, SystemStanding, write_standings

    run = make_run(datasets=("one", "two"), tasks=("robustness",), systems={"a": "embedding", "b": "classical"})
    record = read_report_runs([run])[0].record
    rng = np.random.default_rng(0)
    made = []
    for dataset in ("one", "two"):
        for name in ("a", "b"):
            value = record.value("robustness", name, "robustness", dataset=dataset) or 0.0
            draws = value + rng.normal(0, 0.001 if dataset == "one" else 5.0, 500)
            headline = SystemHeadlineValue(name, value, 48, draws, "bootstrap over documents")
            made.append(SystemStanding("robustness", dataset, "robustness", headline))
    write_standings(run, made)
    found = cards(run)
    values = {
        name: SCORE.format_value_in_text(record.value("robustness", name, "robustness", dataset="one") or 0)
        for name in ("a", "b")
    }
    best, worst = sorted(values, key=lambda name: values[name], reverse=True)
    assert f"beats every other system of its kind on robustness of one with {values[best]} (" in verbs(
        found[best].good, "beats every other system of its kind"
    )
    assert "of two" not in verbs(found[best].good, "beats every other system of its kind")
    assert f"robustness of one with {values[worst]}" in verbs(
        found[worst].bad, "is beaten by every other system of its"
    )


@pytest.fixture(scope="module")
def probes(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    small: dict[str, Any] = {"queries": 6, "runs": 2, "tokenizer": "words", "resamples": 100}
    folder = tmp_path_factory.mktemp("probes")
    return [
        eb.rag.probe_names(["jaccard", "bm25"], out=folder / "names", **small).path,
        eb.rag.probe_noise(["jaccard"], out=folder / "noise", **small).path,
    ]


def test_probes_alone_make_cards(probes: list[Path]) -> None:
    """What names and small talk do, in numbers of the run; no ranks, no command for one system."""
    runs = read_report_runs(probes)
    found = {card.row.system.name: card for card in make_system_cards(runs) or ()}
    assert set(found) == {"jaccard", "bm25"}
    for card in found.values():
        assert not strangers(card, runs), [*sentences(card)]
        assert card.commands == ()
        assert not card.has_items
    assert any("of small talk" in convert_sentence_to_text(one.clause) for one in found["jaccard"].bad)
    assert any("name margin" in convert_sentence_to_text(one.clause) for one in found["bm25"].bad)


def test_hostile_names_stay_text_on_cards(make_run: MakeRun, tmp_path: Path) -> None:
    """A script in a system's name, a dataset's name or a reason is text on its card."""
    run = make_run(
        systems={HOSTILE: "embedding", "bm25": "classical"}, datasets=(HOSTILE,), name=HOSTILE,
        failed=(("retrieval", HOSTILE, "bm25"),),
    )  # fmt: skip
    made = study(name=HOSTILE)
    pairs = tuple(replace_system(pair, HOSTILE) if place == 0 else pair for place, pair in enumerate(made.pairs))
    hume = write_hume_run(tmp_path / "hume", made.model_copy(update={"pairs": pairs}))
    page = write_report([run, hume], out=tmp_path / "out.html").read_text("utf-8")
    assert page.count("<script") == 2
    assert "<img" not in page
    assert HOSTILE in {card.row.system.name for card in make_system_cards(read_report_runs([run, hume])) or ()}


def replace_system(pair: Any, name: str) -> Any:
    """The pair with its first model renamed."""
    first, *rest = pair.models
    return pair.model_copy(update={"models": (first.model_copy(update={"system": name}), *rest)})


def test_findings_lead_to_pages_of_the_report(plain_run: Path, pteb_run: Path, probes: list[Path]) -> None:
    """The page that a finding names is a page, or a part of one."""
    folder = plain_run.parent / "linked.html"
    page = write_report([plain_run, pteb_run, *probes], out=folder).read_text("utf-8")
    ids = set(re.findall(r' id="?([\w%.-]+)', page))
    found = make_system_cards(read_report_runs([plain_run, pteb_run, *probes])) or ()
    pages = {one.page for card in found for one in (*card.good, *card.bad)}
    assert pages
    assert pages <= ids


def test_a_bullet_begins_with_a_capital() -> None:
    """A clause goes on from a name; alone it is a sentence."""
    made = SystemFinding(("beats every other system on ", "STS"), "SAGE", "sage")
    assert convert_sentence_to_text(made.format_clause_as_sentence) == "Beats every other system on STS."
    assert convert_sentence_to_text(replace(made, clause=("is 1",)).format_clause_as_sentence) == "Is 1."
