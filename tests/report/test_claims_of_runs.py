"""What the verdicts of every protocol say, held against the tables of runs drawn at random."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from claims import unclaimed, walk
from embassay.document.blocks import convert_sentence_to_text

from . import random_boards as boards
from . import random_studies as studies
from .random_boards import Made

OF: dict[str, Callable[[int], Made]] = {
    "board of sage": lambda seed: boards.of_board("sage", seed),
    "board of pteb": lambda seed: boards.of_board("pteb", seed),
    "board of original": lambda seed: boards.of_board("original", seed),
    "board of another package": lambda seed: boards.of_board("other", seed),
    "sage": boards.of_sage, "pteb": boards.of_pteb, "hteb": boards.of_hteb, "calibration": boards.of_calibration,
    "answers": boards.of_answers, "judge": boards.of_judge, "choose": studies.of_choice, "hume": studies.of_hume,
    "golden": studies.of_golden, "names": studies.of_names, "noise": studies.of_noise, "mteb": studies.of_mteb,
    "compare": studies.of_compare, "compare all": studies.of_fields, "leaderboard": studies.of_leaderboard,
    "validation": studies.of_validation, "findings": studies.of_findings, "gate": studies.of_gate,
    "decision": studies.of_decision, "cards": boards.of_cards,
    "questions": studies.of_questions,
}  # fmt: skip


def held(kind: str, seed: int) -> int:
    """How many claims of one random run hold, and everything that it says is claimed."""
    verdict, tables = OF[kind](seed)
    text = " ".join(map(convert_sentence_to_text, (verdict.heading, *verdict.lede)))
    try:
        walked = walk(verdict.claims, tables)
    except AssertionError as error:
        raise AssertionError(f"{kind} {seed}: {error}\n{text}") from None
    assert not unclaimed(text, verdict.claims), f"{kind} {seed}: {unclaimed(text, verdict.claims)} in {text}"
    return walked


@pytest.mark.parametrize("kind", OF)
def test_every_claim_of_random_runs_holds(kind: str) -> None:
    """With one system and with several, ties, missing values, failed cells, references and few items."""
    assert sum(held(kind, seed) for seed in range(60)) > 25


@pytest.mark.nightly
@pytest.mark.parametrize("kind", OF)
def test_every_claim_of_many_random_runs_holds(kind: str) -> None:
    """The same at length."""
    for seed in range(1000, 3000):
        held(kind, seed)
