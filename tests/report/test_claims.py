"""What the first screen, verdicts and cards say, held against the values they are made from."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from claims import Tables, walk
from embassay.document.blocks import convert_sentence_to_text
from embassay.measures import agreement_band
from embassay.protocols.kernel.tables import SCORE
from embassay.records import ResultRow
from embassay.report.answers import (
    QUESTIONS,
    ReportQuestionAnswer,
    _answer_from_evidence,
    describe_recommended_systems,
    list_report_answers_from_evidence,
    recommendation_claims,
)
from embassay.report.board import build_record_board, list_possible_leaders_above_reference
from embassay.report.calibration.thresholds import calibration_verdict
from embassay.report.cards.card import make_system_cards
from embassay.report.cards.evidence import Basis, RunEvidenceOnQuestion, SystemEstimateWithRanks
from embassay.report.hume.families import format_percent_of_human_if_agreed
from embassay.report.rag.choice import choice_verdict
from embassay.report.record import RunRecord, SystemOfRun, index_rows_by_key
from embassay.report.runs import ReportRun, attach_boards_to_records, read_report_runs

from .hume_run import study
from .sweep_run import write_sweep_run

BASES: dict[str, Basis] = {"search": "quality", "reworded": "quality", "damaged": "share", "groups": "groups"}
BY_NAME = {question.name: question for question in QUESTIONS}


def random_evidence(rng: np.random.Generator, question: str) -> RunEvidenceOnQuestion:
    """Two to nine systems with drawn values; ranks as overlapping intervals leave them, wide or narrow, or none."""
    n = int(rng.integers(2, 10))
    values = np.sort(np.round(rng.uniform(0, 1, n), int(rng.integers(1, 4))))[::-1]
    error = float(rng.choice([0.001, 0.05, 0.4]))
    draws = values[:, None] + error * rng.normal(size=(n, 60))
    beaten = [int((values > value + 3 * error).sum()) for value in values]
    beats = [int((values < value - 3 * error).sum()) for value in values]
    ranked = rng.random() < 0.8
    names = rng.permutation([f"system-{i}" for i in range(9)])[:n]
    contenders = tuple(
        SystemEstimateWithRanks(
            float(value), name=str(name), kind="embedding", ranks=(1 + above, n - below) if ranked else None
        )
        for name, value, above, below in zip(names, values, beaten, beats, strict=True)
    )
    floor = float(rng.uniform(0, 1)) if rng.random() < 0.3 else None
    equal = "random" if floor is not None and floor >= values[0] else ""
    return RunEvidenceOnQuestion(
        cast(ReportRun, SimpleNamespace(slug="made")), contenders, draws, int(rng.integers(2, 200)), SCORE,
        equal=equal, floor=floor, basis=BASES[question],
    )  # fmt: skip


def random_answers(seed: int) -> list[ReportQuestionAnswer]:
    """An answer for each question of quality that is asked."""
    rng = np.random.default_rng([seed, 42])
    asked = [name for name in BASES if rng.random() < 0.7]
    return [
        _answer_from_evidence(BY_NAME[name], random_evidence(rng, name) if name in asked else None) for name in BASES
    ]


def held(answers: list[ReportQuestionAnswer]) -> int:
    """Who is named may be first, who is out may not, and what is recommended leads where it counts."""
    walked = 0
    for answer in answers:
        tables = Tables(ranks={row.name: row.ranks or (1, len(answer.all)) for row in answer.all})
        assert set(answer.names) <= {row.name for row in answer.all}
        assert answer.level != "sure" or answer.all[0].ranks == (1, 1)
        assert all(tables.ranks[name][0] == 1 or answer.note for name in answer.may)
        assert not any(tables.ranks[name][0] == 1 for name in answer.out)
        own = [claim for claim in recommendation_claims(answers) if claim.measure == answer.question.name]
        walked += walk(own, tables)
        assert all(claim.subject == answer.all[0].name for claim in own)
    use, _ = describe_recommended_systems(answers)
    search = next(answer for answer in answers if answer.question.name == "search")
    for name in re.findall(r"(?:use |; )(system-\d)(?=:| for| where| to)", use.partition("On texts")[2]):
        assert name not in search.out, use
        grounds = [answer for answer in answers if answer.can_recommend_leader and answer.names[0] == name]
        assert grounds, use
        assert all(answer.basis == "quality" for answer in grounds)
        assert all(answer.all[0].ranks is None or answer.all[0].ranks[1] <= 2 for answer in grounds)
    if not any(answer.can_recommend_leader for answer in answers):
        assert "use system" not in use
    return walked


def test_every_claim_of_random_first_screens_holds() -> None:
    """Whatever was asked, with or without tests, with references that nobody passes."""
    assert sum(held(random_answers(seed)) for seed in range(400)) > 150


@pytest.mark.nightly
def test_every_claim_of_many_random_first_screens_holds() -> None:
    """The same at length."""
    for seed in range(1000, 21_000):
        held(random_answers(seed))


def answered(
    question: str, *names: str, basis: Basis = "quality", ranks: tuple[int, int] = (1, 1)
) -> ReportQuestionAnswer:
    """A question that the first of these leads, and the tests rule out the others."""
    rows = tuple(
        SystemEstimateWithRanks(
            0.9 - place / 10, name=name, kind="classical", ranks=(2, len(names)) if place else ranks
        )
        for place, name in enumerate(names)
    )
    return ReportQuestionAnswer(
        BY_NAME[question], "sure", names[:1], 100, 100, all=rows, basis=basis, may=names[:1], slug="sage"
    )  # fmt: skip


def test_nothing_is_recommended_by_what_is_kept_or_by_grouping_alone() -> None:
    """Levenshtein leads where copies are damaged: what it keeps of a poor search is no reason to use it."""
    damaged = answered("damaged", "levenshtein", "minilm", basis="share")
    groups = answered("groups", "levenshtein", "minilm", basis="groups")
    for answers in ([damaged], [groups], [damaged, groups]):
        use, _ = describe_recommended_systems([ReportQuestionAnswer(BY_NAME["search"], "not run"), *answers])
        assert "use levenshtein" not in use
        assert "rag score" in use
        assert "ruled out everywhere: minilm" in use


def test_what_search_rules_out_is_not_recommended_for_anything() -> None:
    """And a system that may hold eight places is not, however often it is ahead."""
    search = answered("search", "minilm", "levenshtein")
    reworded = answered("reworded", "levenshtein", "minilm")
    use, _ = describe_recommended_systems([search, reworded])
    assert "use minilm" in use
    assert "levenshtein" not in use
    wide = replace(answered("search", "a", "b", ranks=(1, 8)), level="likely", may=("a", "b"))
    assert "use a" not in describe_recommended_systems([wide])[0]


def record(kind: str, rows: list[ResultRow], path: Path, **more: Any) -> RunRecord:
    """A record of systems a, b and c."""
    names = list(dict.fromkeys(row.system for row in rows))
    return RunRecord(
        path, {"protocol": kind, "arguments": {"options": {"precision": 0.9, "confidence": 0.95}}},
        tuple(SystemOfRun(i, name, "embedding") for i, name in enumerate(names)), (), index_rows_by_key(rows),
        {}, **more,
    )  # fmt: skip


def row(task: str, system: str, measure: str, value: float | None, variant: str = "", dataset: str = "d") -> ResultRow:
    """A row of a run."""
    reason = "" if value is not None else "too few labels"
    return ResultRow("x", task, dataset, "", "en", variant, system, measure, value, 40, None, None, "", 1, reason)


def choice(path: Path, **more: Any) -> RunRecord:
    """A choice between three systems; the pick has the least expected loss and is not the likeliest."""
    told = {
        "pick": "b", "as_good": [], "says": "cannot say", "p_best": 0.4, "p_near": 0.7, "expected_regret": 0.05,
        "enough": True, "found": 0.9, "regret_of_random": 0.2, "tolerance": 0.03, "labels": 40,
        "regret_with_labels": {"40": 0.02},
        "chance_with_labels": {"40": 0.9}, "judged": 0, "written": 0, "questions": 60, "missing": [],
        "trained_on": ["x"], **more,
    }  # fmt: skip
    shares = {"a": told.pop("p_other", 0.57), "b": told["p_best"], "c": 0.03}
    rows = [row("choice", name, "p_best", value) for name, value in shares.items()]
    return record("choose", rows, path, compared={"choice": {"d": told}})


def test_a_choice_answers_what_is_best_for_search(tmp_path: Path) -> None:
    """Without labels nothing is decided; who is hardly the best is out; every system has a card."""
    runs = attach_boards_to_records([choice(tmp_path)])
    assert list_report_answers_from_evidence(runs) == ()  # alone it says so itself
    beside = record("sage", [row("clustering", "a", "v_measure", 0.5)], tmp_path)
    search = list_report_answers_from_evidence(attach_boards_to_records([choice(tmp_path), beside]))[0]
    assert (search.level, search.slug, search.may) == ("open", "choose", ("b", "a"))
    assert search.names == ("b", "a")
    decided = list_report_answers_from_evidence(
        attach_boards_to_records([choice(tmp_path, says="b", p_best=0.9, judged=40), beside])
    )[0]
    assert (decided.level, decided.names) == ("likely", ("b",))
    assert "40 judged questions" in decided.means
    # What the choice itself says, as far as it goes: nothing is recommended.
    use, _ = describe_recommended_systems([decided])
    assert "picks b" in use
    assert "use b" not in use
    cards = make_system_cards(runs)
    assert cards is not None
    assert {card.row.system.name for card in cards} == {"a", "b", "c"}


def test_an_undecided_choice_names_who_may_be_best(tmp_path: Path) -> None:
    """By their chances, whoever has the least expected loss; who has under 5% is unlikely."""
    made = choice(tmp_path)
    heading = convert_sentence_to_text(choice_verdict(made, build_record_board(made)).heading)
    assert heading == "Undecided: a (57%) or b (40%) may be best; c is unlikely"
    alike = choice(tmp_path, p_best=0.503, p_other=0.497)
    assert "b (50%) or a (50%)" in convert_sentence_to_text(choice_verdict(alike, build_record_board(alike)).heading)
    decided = choice(tmp_path, says="b", p_best=0.9)
    assert (
        convert_sentence_to_text(choice_verdict(decided, build_record_board(decided)).heading)
        == "Use b (90% likely to be the best)"
    )


@pytest.mark.slow
def test_labels_come_before_a_choice_and_every_encoder_of_a_sweep_has_a_card(tmp_path: Path) -> None:
    """A sweep's encoders by what they beat with all else equal."""
    write_sweep_run(tmp_path / "sweep")
    swept = read_report_runs([tmp_path / "sweep"])
    search = list_report_answers_from_evidence((*attach_boards_to_records([choice(tmp_path)]), *swept))[0]
    assert search.slug == "sweep"
    assert search.names == ("minilm",)
    values = dict(_best_by_encoder(tmp_path / "sweep"))
    assert {row.name: row.value for row in search.all} == values


def _best_by_encoder(folder: Path) -> Iterator[tuple[str, float]]:
    from embassay.protocols.rag.sweep.findings import read_findings

    findings = read_findings(folder / "sweep.json")
    stacks = findings.parts[0].stacks
    for name in ("minilm", "wordllama"):
        own = [stack.value(findings.asked.measure) for stack in stacks if stack.axes["encoder"] == name]
        yield name, max(value for value in own if value is not None)


def test_a_calibration_says_that_no_threshold_holds_only_where_none_does(tmp_path: Path) -> None:
    """The system of most skill has none and the next one has: the heading is about that one."""
    rows = [
        row("pairs", name, "skill", value, dataset=data)
        for name, value in (("a", 0.5), ("b", 0.3))
        for data in ("", "d")
    ]
    rows += [row("pairs", "a", "threshold", None, "precision"), row("pairs", "b", "threshold", 0.7, "precision")]
    made = record("calibration", rows, tmp_path)
    heading = str(calibration_verdict(made, build_record_board(made)).heading)
    assert "No threshold" not in heading
    assert "0.700" in heading
    none = record("calibration", [one for one in rows if one.value != 0.7], tmp_path)
    assert "None of the 2 systems" in str(calibration_verdict(none, build_record_board(none)).heading)


def test_a_percent_of_people_needs_people_who_agree() -> None:
    """At a kappa of -0.13 their score is chance, and 505.9% of it is nothing; at 0.15 their agreement is poor."""
    pair = next(one for one in study(kind="person").pairs if one.agreement is not None)
    agreement = pair.agreement
    assert agreement is not None
    at = {}
    for kappa in (-0.13, 0.15, 0.5):
        value = replace(agreement.value, value=kappa)
        changed = agreement.model_copy(update={"value": value, "band": agreement_band(kappa, "kappa")})
        at[kappa] = pair.model_copy(update={"agreement": changed})
    assert not any("%" in format_percent_of_human_if_agreed(at[kappa], 505.9) for kappa in (-0.13, 0.15))
    assert format_percent_of_human_if_agreed(at[0.5], 90.0) == "90.0%"


def test_a_system_that_does_not_pass_a_reference_is_not_named_as_one_that_may_be_first(make_run: Any) -> None:
    """`jaccard` under `random`: the tests rule neither out, and to know nothing is as good."""
    folder = make_run(
        systems={"a": "embedding", "b": "classical"}, levels={"a": 0.9, "b": 0.1, "constant": 0.5, "random": 0.5}
    )
    [run] = read_report_runs([folder])
    assert list_possible_leaders_above_reference(run.board, ["a", "b"]) == ("a",)
    assert list_possible_leaders_above_reference(run.board, ["b"]) == ("b",)


def test_what_is_kept_never_stands_under_the_caption_of_another_measure(make_run: Any) -> None:
    """Robustness is no share of search quality; the caption is that of the evidence."""
    from embassay.protocols.kernel.comparisons import SystemHeadlineValue, SystemStanding, write_standings

    run = make_run(tasks=("robustness",), systems={"a": "embedding", "b": "embedding"})
    draws = np.random.default_rng(0).normal(0, 0.01, (2, 300))
    write_standings(
        run,
        [
            SystemStanding(
                "robustness", "", "robustness", SystemHeadlineValue(name, value, 48, value + drawn, "bootstrap")
            )
            for name, value, drawn in zip("ab", (0.6, 0.4), draws, strict=True)
        ],
    )
    damaged = next(
        one for one in list_report_answers_from_evidence(read_report_runs([run])) if one.question.name == "damaged"
    )
    assert damaged.basis == "share"
    assert "search" not in damaged.means
    assert "use" not in describe_recommended_systems([damaged])[0].split()


def test_grades_of_a_model_are_no_labels_wherever_the_report_is_made(tmp_path: Path, monkeypatch: Any) -> None:
    """The path of the judgements is relative to where the scoring was made, and the report is made elsewhere."""
    import embassay as eb

    export = tmp_path / "runs" / "golden" / "export"
    export.mkdir(parents=True)
    (export.parent / "golden.json").write_text("{}")
    qrels = [f"q{i} 0 d{j} {1 + (i + j) % 5}" for i in range(30) for j in range(6)]
    (export / "qrels.txt").write_text("\n".join(qrels) + "\n")
    for name, order in (("a", range(6)), ("b", range(5, -1, -1))):
        lines = [f"q{i} Q0 d{j} {place} {9 - place} {name}" for i in range(30) for place, j in enumerate(order, 1)]
        (tmp_path / f"{name}.trec").write_text("\n".join(lines) + "\n")
    monkeypatch.chdir(tmp_path)
    runs = {name: f"{name}.trec" for name in "ab"}
    eb.rag.score("runs/golden/export/qrels.txt", runs, resamples=50, out="runs/scored", measures=["nDCG@5"])
    monkeypatch.chdir("/")
    beside = attach_boards_to_records([record("sage", [row("clustering", "a", "v_measure", 0.5)], tmp_path)])
    search = list_report_answers_from_evidence((*read_report_runs([tmp_path / "runs" / "scored"]), *beside))[0]
    assert search.means == "nDCG@5 by a golden set"
