"""Model cards and the method page."""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable
from pathlib import Path

from embassay.document.blocks import convert_sentence_to_text
from embassay.protocols.sage.options import SageOptions
from embassay.report.board import build_record_board
from embassay.report.cards.card import build_rerun_command, make_cards_of_run
from embassay.report.kinds import PAPER_DEFAULTS
from embassay.report.method import make_method_page_of_run
from embassay.report.record import read_run_record

MakeRun = Callable[..., Path]


def test_a_card_says_what_and_where(plain_run: Path) -> None:
    """Two sentences, a score per task among the others, facts, and the command."""
    record = read_run_record(plain_run)
    cards = {card.row.label: card for card in make_cards_of_run(record, build_record_board(record)) or ()}
    aster = cards["aster-large"]
    assert aster.about == "An embedding model, compared by cosine similarity, 256 dimensions, reads up to 512 tokens."
    assert convert_sentence_to_text(aster.standings[0].place).startswith(
        "Rank 1 of 3 ranked systems overall; it is best, or cannot be told apart from the best, on"
    )
    scores = aster.standings[0].scores
    assert scores[0].title == "Overall"
    assert len(scores) == 6
    assert convert_sentence_to_text(cards["birch-base"].standings[0].place) == "Mean of the 4 finished tasks 0.554."
    assert cards["birch-base"].price.runs[0].cut == "7.1%"
    assert ("input limit, tokens", "512") in cards["birch-base"].facts


def test_the_command_reads_back_as_the_arguments(make_run: MakeRun) -> None:
    """Names with spaces and quotes are quoted; options that were given are repeated."""
    run = make_run(systems={"st:./my model's folder": "embedding", "bm25": "classical"}, datasets=("one", "two"))
    record = read_run_record(run)
    words = shlex.split(build_rerun_command(record, record.systems[0]))
    assert words[:5] == ["embassay", "sage", "run", "-s", "st:./my model's folder"]
    assert words[words.index("-d") + 1] == "one"
    assert words[words.index("--seed") + 1] == "1337"
    assert words[words.index("--tokenizer") + 1] == "words"


def test_every_option_is_on_the_method_page_with_its_default() -> None:
    """A new option of the protocol has to be explained."""
    assert {name: default for name, (default, _) in PAPER_DEFAULTS.items()} == SageOptions().as_dict()


def test_choices_that_are_not_the_default_are_marked(make_run: MakeRun) -> None:
    """Deviations stand out, also a tokenizer that is not the paper's."""
    run = make_run()
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["arguments"]["options"] = {"curve": "linear"}
    (run / "manifest.json").write_text(json.dumps(manifest))
    record = read_run_record(run)
    marked = [
        one.name for one in make_method_page_of_run(record, build_record_board(record)).choices if not one.is_default
    ]
    assert marked == ["curve", "tokenizer"]


def test_the_method_page_names_data_versions_and_cost(plain_run: Path) -> None:
    """What a reader needs to repeat the run."""
    record = read_run_record(plain_run)
    page = make_method_page_of_run(record, build_record_board(record))
    assert page.datasets[0].fingerprint == "9f2c41ab"
    assert ("python", "3.11.2") in page.versions
    assert ("seed", "1337") in page.facts
    assert page.sessions[0].took == "41 min"
    assert page.sessions[0].texts == "12,480 encoded, 0 from the cache"
