"""The finding in words: its numbers are in the results, and who is called first may be first."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from embassay.document.blocks import SystemNameInSentence, VerdictText, convert_sentence_to_text
from embassay.protocols.kernel import tables as numbers
from embassay.report.board import build_record_board, count_items_of_system_score
from embassay.report.overview import board_verdict
from embassay.report.record import PairedComparison, RunRecord, TaskSystemComparisons, read_run_record
from embassay.report.sage.tables import TASKS, sage_verdict

MakeRun = Callable[..., Path]
NUMBER = re.compile(r"−?\d[\d,]*(?:\.\d+)?%?")


def sentences(verdict: VerdictText) -> list[str]:
    return [convert_sentence_to_text(verdict.heading), *map(convert_sentence_to_text, verdict.lede)]


def known_numbers(record: RunRecord) -> Iterator[str]:
    """Every number a sentence may hold: values and interval ends, differences, counts, shares, ranks."""
    for row in record.rows.values():
        for value in (row.value, row.ci_low, row.ci_high):
            if value is not None:
                yield from (
                    numbers.format_score(value),
                    numbers.format_percent(value),
                    numbers.format_percent(value, 1),
                )
                yield numbers.format_count(round(value * row.n))
        yield numbers.format_count(row.n)
    for scope in record.scopes.values():
        for pair in scope.pairs:
            for one in (pair, pair.swap_sides()):
                yield from (numbers.format_score(end) for end in (one.difference, one.ci_low, one.ci_high))
    yield from (numbers.format_count(n) for n in range(len(record.cells) + 1))
    yield from (
        numbers.format_count(count_items_of_system_score(record, task, name))
        for task in TASKS
        for name in record.systems_by_name
    )
    yield "95%"


def strangers(record: RunRecord, verdict: VerdictText) -> set[str]:
    """Numbers in the sentences, outside names, that the record does not hold."""
    parts = [part for sentence in (verdict.heading, *verdict.lede) for part in sentence if isinstance(part, str)]
    return set(NUMBER.findall(" | ".join(parts))) - set(known_numbers(record))


def runs() -> list[dict[str, object]]:
    """Runs of every shape."""
    return [
        {},
        {"levels": {"aster-large": 0.9, "birch-base": 0.88}},
        {"levels": {"aster-large": 0.9, "birch-base": 0.9, "jaccard": 0.89, "bm25": 0.88}},
        {"levels": {"aster-large": 0.9, "birch-base": 0.885, "jaccard": 0.87, "bm25": 0.3}},
        {"failed": (("retrieval", "sample", "birch-base"),)},
        {"systems": {"bm25": "classical"}},
        {"tasks": ("robustness",)},
        {"tasks": ("robustness",), "systems": {"bm25": "classical"}},
        {"datasets": ("one", "two"), "failed": (("clustering", "two", "aster-large"),)},
        {"documents": 200, "queries": 120},
    ]


@pytest.mark.parametrize("fields", runs())
def test_every_number_is_in_the_results(make_run: MakeRun, fields: dict[str, object]) -> None:
    """No sentence holds a number that the record does not."""
    record = read_run_record(make_run(**fields))
    board = build_record_board(record)
    assert not strangers(record, board_verdict(record, board))
    assert not strangers(record, sage_verdict(record, board))


@pytest.mark.parametrize("fields", runs())
def test_headings_are_short(make_run: MakeRun, fields: dict[str, object]) -> None:
    """A heading has at most 80 characters and no exclamation mark."""
    record = read_run_record(make_run(**fields))
    board = build_record_board(record)
    for verdict in (board_verdict(record, board), sage_verdict(record, board)):
        assert 0 < len(convert_sentence_to_text(verdict.heading)) <= 80
        assert "!" not in " ".join(sentences(verdict))


def called_first(verdict: VerdictText) -> set[str]:
    """The systems that the verdict says are or may be first."""
    heading = convert_sentence_to_text(verdict.heading)
    if " beats every other" in heading or heading.startswith("Only "):
        return {part.label for part in verdict.heading if isinstance(part, SystemNameInSentence)}
    names = [part.label for part in verdict.lede[0] if isinstance(part, SystemNameInSentence)]
    return {names[0], *(names[2:] if " beats " in verdict.lede[0] else names[1:])}


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.permutations([0.5, 0.51, 0.52, 0.56]), st.lists(st.booleans(), min_size=6, max_size=6))
def test_called_first_are_those_whose_range_includes_1(plain_run: Path, levels: list[float], told: list[bool]) -> None:
    """The systems called first are exactly those with a rank range from 1, whichever pairs are told apart."""
    record = with_scope(read_run_record(plain_run), levels, told)
    verdict = board_verdict(record, build_record_board(record))
    first = record.find_task_comparisons("overall").first
    assert called_first(verdict) == set(first)
    if " may be first" in convert_sentence_to_text(verdict.heading) and len(first) > 1:
        assert numbers.format_small_count_in_words(len(first)) in convert_sentence_to_text(verdict.heading).lower()


def with_scope(record: RunRecord, levels: list[float], told: list[bool]) -> RunRecord:
    """The record with everybody complete at these overall values; `told` says which pairs are told apart."""
    names = ("aster-large", "birch-base", "jaccard", "bm25")
    value = dict(zip(names, levels, strict=True))
    order = tuple(sorted(names, key=lambda name: -value[name]))
    beats = dict(zip(combinations(order, 2), told, strict=True))
    ranges = {
        name: (1 + sum(beats[a, b] for a, b in beats if b == name), 4 - sum(beats[a, b] for a, b in beats if a == name))
        for name in order
    }
    pairs = []
    for (a, b), apart in beats.items():
        gap, p = value[a] - value[b], 0.001 if apart else 0.5
        pairs.append(PairedComparison(a, b, gap, gap - 0.01, gap + 0.01, p, p))
    first = frozenset(name for name in order if ranges[name][0] == 1)
    rows = dict(record.rows)
    template = next(row for row in rows.values() if row.task == "overall" and row.system == "aster-large")
    for name in names:
        key = ("overall", "", "", "", name, "overall")
        rows[key] = type(template)(**{**template.as_dict(), "system": name, "value": value[name]})
    scopes = {"overall": TaskSystemComparisons("overall", order, ranges, first, tuple(pairs))}
    return RunRecord(record.path, record.manifest, record.systems, record.cells, rows, scopes)


def test_two_that_cannot_be_told_apart(make_run: MakeRun) -> None:
    """Two systems lead: their gap with its interval, and no winner."""
    record = read_run_record(make_run(levels={"aster-large": 0.9, "birch-base": 0.88}))
    heading, gap, classical = sentences(board_verdict(record, build_record_board(record)))
    assert heading == "Two encoders may be first"
    assert re.match(r"aster-large 0\.\d{3} and birch-base 0\.\d{3} differ by 0\.\d{3} \(95% interval −", gap)
    assert classical == "Both beat every classical metric."


def test_two_that_never_differ_have_no_interval(make_run: MakeRun) -> None:
    """No resample tells them apart, so there is nothing to test; an interval from 0 to 0 would look like certainty."""
    record = read_run_record(make_run(levels={"aster-large": 0.9, "birch-base": 0.88}))
    scope = record.scopes["overall"]
    pairs = tuple(replace(one, difference=0.0, ci_low=0.0, ci_high=0.0, p=1.0, p_adjusted=1.0) for one in scope.pairs)
    record = replace(record, scopes={**record.scopes, "overall": replace(scope, pairs=pairs)})
    gap = sentences(board_verdict(record, build_record_board(record)))[1]
    assert re.fullmatch(
        r"aster-large and birch-base both score 0\.\d{3} in every resample, so nothing is tested\.", gap
    )


def test_beating_every_classical_metric_needs_every_test(make_run: MakeRun) -> None:
    """The sentence is left out when one metric cannot be told apart from a first system."""
    run = make_run(levels={"aster-large": 0.9, "birch-base": 0.89, "jaccard": 0.87, "bm25": 0.3})
    record = read_run_record(run)
    assert "classical" not in " ".join(sentences(board_verdict(record, build_record_board(record))))


def test_one_system_is_not_ranked(make_run: MakeRun) -> None:
    """A lone system gets its score and the advice to add another."""
    record = read_run_record(make_run(systems={"bm25": "classical"}))
    heading, advice = sentences(board_verdict(record, build_record_board(record)))
    assert re.fullmatch(r"bm25 scores 0\.\d{3} overall", heading)
    assert advice.endswith("Add a second system to compare.")


def test_no_system_complete(make_run: MakeRun) -> None:
    """Nobody is ranked when everybody lacks a task."""
    failed = tuple(("retrieval", "sample", name) for name in ("aster-large", "birch-base", "jaccard", "bm25"))
    record = read_run_record(make_run(failed=failed))
    heading, what = sentences(board_verdict(record, build_record_board(record)))
    assert heading == "No system has finished every task, so none is ranked"
    assert "26 of 30 cells" in what


def test_no_test_no_ranking(make_run: MakeRun) -> None:
    """Values without comparisons are a range, not an order."""
    run = make_run()
    (run / "comparisons.json").unlink()
    record = read_run_record(run)
    heading, what = sentences(board_verdict(record, build_record_board(record)))
    assert heading == "No ranking on overall: differences cannot be tested"
    assert "no comparisons" in what


def test_the_share_of_nothing_is_said_plainly(make_run: MakeRun) -> None:
    """0 of 48 is not `at most`."""
    run = make_run(levels=dict.fromkeys(("aster-large", "birch-base", "jaccard", "bm25"), 0.0))
    record = read_run_record(run)
    said = sentences(sage_verdict(record, build_record_board(record)))
    assert said[1].startswith("No system ranks every superficial edit above every meaning change")


def test_a_handful_of_items_beats_nobody(make_run: MakeRun) -> None:
    """As the answers of several runs have it: below ten items nothing is decided, however far apart values are."""
    levels = {"aster-large": 0.9, "birch-base": 0.3, "jaccard": 0.2, "bm25": 0.1}
    record = read_run_record(make_run(tasks=("robustness",), levels=levels))
    assert " beats " in convert_sentence_to_text(board_verdict(record, build_record_board(record)).heading)
    datasets = [
        {**one, "tasks": {task: {**facts, "n": 9} for task, facts in one["tasks"].items()}}
        for one in record.manifest["datasets"]
    ]
    few = replace(record, manifest={**record.manifest, "datasets": datasets})
    verdict = board_verdict(few, build_record_board(few))
    assert " beats " not in convert_sentence_to_text(verdict.heading)
    assert "9 items" in convert_sentence_to_text(verdict.heading)
    assert "beat" not in " ".join(sentences(verdict))
