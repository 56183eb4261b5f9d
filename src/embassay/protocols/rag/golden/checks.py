"""The human check of a golden run (spec rag 4.2): a sample to edit, and what the edited file says of it."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations
from pathlib import Path
from statistics import median

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError, UsageError
from embassay.limits import parse_bounded_json, read_bounded_file
from embassay.measures.judgements import GRADES, RELEVANT
from embassay.measures.sets import HARMFUL
from embassay.protocols.kernel.estimates import UNVARIED
from embassay.protocols.kernel.quantities import (
    JudgeAssistedMean,
    JudgeBias,
    estimate_judge_assisted_mean,
    measure_judge_bias_by_score,
)
from embassay.protocols.rag.golden.conclusions import QueryProgress
from embassay.protocols.rag.golden.corpus import GoldenRunResources
from embassay.protocols.rag.golden.final_lists import (
    FinalListPassage,
    PersonPassageJudgement,
    QuestionFinalList,
    read_final_lists,
    read_human_check_file,
    write_human_check_file,
)
from embassay.protocols.rag.golden.grades import Key, Pair, grade_all_pairs
from embassay.protocols.rag.golden.options import HumanCheckSampling
from embassay.protocols.rag.golden.summary import (
    HumanCheckOfJudge,
    JudgeRepeatability,
    PersonPassageRemark,
    read_golden_record,
    write_golden_record,
)
from embassay.protocols.rag.golden.trust import estimate_share_of_pairs
from embassay.protocols.rag.judges import Judge, Passage, Question
from embassay.randomness import make_seeded_generator
from embassay.runs.execution import CallFailure, run_concurrent_jobs
from embassay.runs.folder import (
    build_dataclass_from_values,
    digest_json,
    format_value_as_json,
    slugify_name,
    write_file_atomically,
)
from embassay.stats import Estimate, bootstrap_ci, kendall_tau
from embassay.stats.resampling import percentile_interval, resample_means
from embassay.systems.remote.calls import run_in_remote_loop_and_wait

AGAIN, ORDER_AGAIN = 1, 1_000
"""The draws of the second judgement; a ranking may have used the first thousand for orders itself."""
RESAMPLES = 2_000
BANDS = ((1, 3), (4, 10), (11, 30))
"""Places of a final list by which the judge is looked at."""

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]


@dataclass(frozen=True)
class JudgedPassageOrder:
    """A list that was ordered once: the passages as they were shown, and their positions best first."""

    question: Question
    passages: tuple[Passage, ...]
    order: tuple[int, ...]


@dataclass(frozen=True)
class RepeatedJudgements:
    """What the second time brought: grades by question and passage, orders (None where there was no answer), and how
    many of both kinds there was no answer for."""

    grades: Mapping[Key, int]
    orders: Sequence[tuple[int, ...] | None]
    failed: int


def sample_keys_across_questions(keys: Sequence[Key], n: int, seed: int) -> list[Key]:
    """`n` of the keys, as many of each question as there are to spare, which ones by chance; in their given order."""
    by_query: dict[str, list[Key]] = {}
    for key in dict.fromkeys(keys):
        by_query.setdefault(key[0], []).append(key)
    turns: list[tuple[int, str, Key]] = []
    for query, group in by_query.items():
        drawn = make_seeded_generator(seed, "repeat", query).permutation(len(group))
        turns += [(turn, query, group[place]) for turn, place in enumerate(drawn.tolist())]
    names = list(by_query)
    lots = dict(
        zip(names, make_seeded_generator(seed, "repeat questions").permutation(len(names)).tolist(), strict=True)
    )
    # The turn before the lot: no question gives a second passage while another has given none.
    turns.sort(key=lambda turn: (turn[0], lots[turn[1]]))
    chosen = {key for _, _, key in turns[:n]}
    return [key for key in dict.fromkeys(keys) if key in chosen]


async def repeat_judge_calls(
    judge: Judge,
    graded: Sequence[Pair],
    ordered: Sequence[JudgedPassageOrder],
    *,
    at_once: int = 256,
    progress: Callable[[int], None] | None = None,
) -> RepeatedJudgements:
    """Have the same judged once more; a judge that cannot be had is raised, a single failure counted."""
    graded_again = await grade_all_pairs(
        judge, graded, {}, lambda *_: None, draw=AGAIN, at_once=at_once, progress=progress
    )
    orders: list[tuple[int, ...] | None] = [None] * len(ordered)
    jobs = (partial(judge.order, order.question, order.passages, draw=ORDER_AGAIN) for order in ordered)
    async for position, outcome in run_concurrent_jobs(jobs, at_once=at_once, progress=progress):
        orders[position] = None if isinstance(outcome, CallFailure) else outcome.order
    grades = {key: verdict.grade for key, verdict in graded_again.verdicts.items()}
    return RepeatedJudgements(grades, orders, len(graded_again.ungraded) + orders.count(None))


def compare_judgements_with_repeat(
    first: Mapping[Key, int], ordered: Sequence[JudgedPassageOrder], second: RepeatedJudgements, *, seed: int = 1337
) -> JudgeRepeatability:
    """How far the second judgements are the first ones."""
    keys = [key for key in first if key in second.grades]
    pairs = [
        (first_order, order) for first_order, order in zip(ordered, second.orders, strict=True) if order is not None
    ]
    if not keys and not pairs:
        return JudgeRepeatability(failed=second.failed, reason="no item was judged twice")
    queries = sorted({key[0] for key in keys})
    tables = [
        count_grade_transitions([(first[key], second.grades[key]) for key in keys if key[0] == query])
        for query in queries
    ]
    agreement = estimate_grade_agreement(np.array(tables), seed=seed) if keys else {}
    return JudgeRepeatability(
        items=len(keys),
        queries=len({key[0] for key in keys} | {order.question.id for order, _ in pairs}),
        table=tuple(tuple(map(int, row)) for row in np.sum(tables, axis=0)) if keys else (),
        calls=len(pairs),
        discordant=estimate_share_of_swapped_pairs(pairs, seed=seed) if pairs else None,
        failed=second.failed,
        exact=agreement.get("exact"),
        within_one=agreement.get("within_one"),
        kappa=agreement.get("kappa"),
        shift=agreement.get("shift"),
    )


def count_grade_transitions(pairs: Sequence[tuple[int, int]]) -> NDArray[np.int64]:
    """How often grade i + 1 was followed by j + 1, (5, 5)."""
    table = np.zeros((len(GRADES), len(GRADES)), dtype=np.int64)
    for first, second in pairs:
        table[first - 1, second - 1] += 1
    return table


def estimate_grade_agreement(tables: NDArray[np.int64], *, seed: int = 1337) -> dict[str, Estimate]:
    """The agreement figures of one table per question, (q, 5, 5), with intervals over questions; with one question,
    over its passages."""
    n = int(tables.sum())
    flat = tables.reshape(len(tables), -1).astype(np.float64)
    if len(flat) == 1:
        flat = np.repeat(np.eye(flat.shape[1]), tables.reshape(-1), axis=0)
    replicates = _bootstrap_row_means(flat, seed, "grades")
    whole = flat.sum(axis=0)
    return {name: _estimate_with_interval(statistic, whole, replicates, n) for name, statistic in _OF_GRADES.items()}


def estimate_share_of_swapped_pairs(
    pairs: Sequence[tuple[JudgedPassageOrder, tuple[int, ...]]], *, seed: int = 1337
) -> Estimate:
    """The share of pairs of passages that the second order of a list puts the other way, over all lists."""
    by_query: dict[str, list[tuple[int, int]]] = {}
    for order, second in pairs:
        by_query.setdefault(order.question.id, []).append(count_swapped_and_all_pairs(order.order, second))
    rows = [np.sum(swaps, axis=0) for swaps in by_query.values()]
    if len(rows) == 1:
        rows = [np.array(pair) for pair in next(iter(by_query.values()))]
    counts = np.array(rows, dtype=np.float64)
    replicates = _bootstrap_row_means(counts, seed, "orders")
    return _estimate_with_interval(_divide_first_by_second_column, counts.sum(axis=0), replicates, len(pairs))


def count_swapped_and_all_pairs(one: Sequence[int], other: Sequence[int]) -> tuple[int, int]:
    """Pairs that two orders of the same things put the other way, and all pairs.

    >>> count_swapped_and_all_pairs((0, 1, 2), (1, 0, 2))
    (1, 3)
    """
    place = {item: at for at, item in enumerate(other)}
    pairs = list(combinations(one, 2))
    return sum(place[a] > place[b] for a, b in pairs), len(pairs)


def compute_weighted_kappa(table: Floats) -> Floats:
    """Cohen's kappa of tables of first against second rating (..., k, k), disagreements weighing the square of their
    distance (Cohen 1968): 1 is full agreement, 0 that of chance. NaN where all ratings are one and the same.

    >>> float(compute_weighted_kappa(np.array([[2.0, 0.0], [0.0, 2.0]])))
    1.0
    """
    k = table.shape[-1]
    weights = (np.arange(k)[:, None] - np.arange(k)) ** 2
    n = table.sum(axis=(-2, -1))
    expected = table.sum(axis=-1)[..., :, None] * table.sum(axis=-2)[..., None, :]
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(1 - n * (weights * table).sum(axis=(-2, -1)) / (weights * expected).sum(axis=(-2, -1)))


def _reshape_to_grade_table(counts: Floats) -> Floats:
    return counts.reshape(*counts.shape[:-1], len(GRADES), len(GRADES))


def _make_share_within_distance(distance: int) -> Statistic:
    grades = np.arange(len(GRADES))
    apart = (np.abs(grades[:, None] - grades) > distance).astype(np.float64).ravel()
    # The share of the others taken from 1: where there are none, resampled means give 1 and not a little more.
    return lambda counts: np.asarray(1 - counts @ apart / counts.sum(axis=-1))


def _compute_mean_grade_shift_from_table(counts: Floats) -> Floats:
    grades = np.arange(len(GRADES), dtype=np.float64)
    return np.asarray(counts @ (grades - grades[:, None]).ravel() / counts.sum(axis=-1))


def _divide_first_by_second_column(counts: Floats) -> Floats:
    return np.asarray(counts[..., 0] / counts[..., 1])


_OF_GRADES: Mapping[str, Statistic] = {
    "exact": _make_share_within_distance(0),
    "within_one": _make_share_within_distance(1),
    "kappa": lambda counts: compute_weighted_kappa(_reshape_to_grade_table(counts)),
    "shift": _compute_mean_grade_shift_from_table,
}


def _bootstrap_row_means(rows: Floats, seed: int, name: str) -> Floats | None:
    if len(rows) < 2:
        return None
    return resample_means(rows, n_resamples=RESAMPLES, rng=make_seeded_generator(seed, "repeatability", name))


def _estimate_with_interval(statistic: Statistic, whole: Floats, replicates: Floats | None, n: int) -> Estimate:
    value = float(statistic(whole))
    if np.isnan(value):
        return Estimate(None, n=n, reason="all judgements are the same")
    low, high = (np.nan, np.nan) if replicates is None else percentile_interval(statistic(replicates))
    if np.isnan(low):
        return Estimate(value, n=n, reason="" if replicates is None else UNVARIED)
    return Estimate(value, low, high, n, "bootstrap over questions")


PER_ORDER = 5
"""One listwise call is repeated for so many grades."""


def measure_repeatability_on_sample(
    work: GoldenRunResources, queries: Sequence[QueryProgress], items: int
) -> JudgeRepeatability:
    """Have `items` passages graded and a fifth as many lists ordered once more. BudgetExceeded and ModelError as in the
    stages; what is bought is in the answer cache."""
    if not getattr(work.judge, "repeats", True):
        return JudgeRepeatability(reason="this judge always repeats its first answer")
    done = {query.state.id: query for query in queries if query.is_in_golden_set}
    first = {
        (key, row["doc_id"]): row["grade"]
        for key, query in done.items()
        for row in query.rows
        if row["grade"] is not None
    }
    chosen = set(sample_keys_across_questions(list(first), items, work.request.seed))
    pairs = [
        (_make_question_shown_to_judge(work, query), Passage(row["doc_id"], row["text"]))
        for key, query in done.items()
        for row in query.rows
        if (key, row["doc_id"]) in chosen
    ]
    orders = _sample_ordered_lists(work, done, max(1, items // PER_ORDER))
    work.listener.stage(f"judged again by {work.judge.name}", len(pairs) + len(orders), "items")
    with work.charge_calls_to("repeat", work.judge.name):
        second = run_in_remote_loop_and_wait(
            lambda: repeat_judge_calls(work.judge, pairs, orders, progress=work.listener.advanced_by)
        )
    return compare_judgements_with_repeat(
        {key: first[key] for key in first if key in chosen}, orders, second, seed=work.request.seed
    )


def _sample_ordered_lists(work: GoldenRunResources, done: dict[str, QueryProgress], n: int) -> list[JudgedPassageOrder]:
    """Some of the lists that were ordered, of as many questions as there are."""
    keys = [(key, str(number)) for key, query in done.items() for number in range(len(query.calls))]
    orders = []
    for key, number in sample_keys_across_questions(keys, n, work.request.seed):
        query = done[key]
        texts = {row["doc_id"]: row["text"] for row in query.rows}
        call = query.calls[int(number)]
        shown = tuple(Passage(doc, texts[doc]) for doc in call["shown"])
        order = tuple(call["shown"].index(doc) for doc in call["order"])
        orders.append(JudgedPassageOrder(_make_question_shown_to_judge(work, query), shown, order))
    return orders


def _make_question_shown_to_judge(work: GoldenRunResources, query: QueryProgress) -> Question:
    original = work.request.options.judge_question == "original"
    return Question(query.state.id, query.state.text if original else query.rewrite)


@dataclass(frozen=True)
class _PersonJudgeOrderAgreement:
    """A question's passages that the person placed: tau-b against the judge (None for fewer than two, or where the
    person puts all alike), pairs put the other way, pairs that the person tells apart, and how far apart the judge had
    the former."""

    tau: float | None
    swapped: int
    pairs: int
    distances: tuple[int, ...]


def sample_question_ids(
    ids: Sequence[str], share: float = HumanCheckSampling.share, seed: int = HumanCheckSampling.seed
) -> list[str]:
    """A share of the questions, at least one, by chance; in their given order.

    >>> len(sample_question_ids([str(i) for i in range(50)]))
    20
    """
    n = min(len(ids), max(1, round(share * len(ids))))
    chosen = make_seeded_generator(seed, "human check").permutation(len(ids))[:n]
    return [ids[place] for place in sorted(chosen.tolist())]


def score_human_check(
    lists: Sequence[QuestionFinalList],
    edited: Sequence[PersonPassageJudgement],
    *,
    file: str = "",
    blind: bool = False,
    seed: int = 1337,
) -> HumanCheckOfJudge:
    """How far a person and the judge agree on the questions that the file is about."""
    edits = {(edit.query_id, edit.doc_id): edit for edit in edited}
    checked = [final for final in lists if any((final.query_id, p.doc_id) in edits for p in final.passages)]
    pairs = {final.query_id: _pair_passages_with_human_judgements(final, edits) for final in checked}
    orders = {query: _compare_person_order_with_judge(listed) for query, listed in pairs.items()}
    every = [pair for listed in pairs.values() for pair in listed]
    corrected, off = _estimate_grade_shares_as_by_person(lists, edits)
    tables = [count_grade_transitions(_list_grade_pairs(listed)) for listed in pairs.values()]
    filled = np.array([table for table in tables if table.sum()])
    agreement = estimate_grade_agreement(filled, seed=seed) if len(filled) else {}
    # What nobody could compute has a reason in place of a value; it is never 0.
    none = Estimate(None, reason="no grade was given")
    return HumanCheckOfJudge(
        file=file,
        queries=len(checked),
        items=len(every),
        placed=sum(e.place is not None for _, e in every),
        graded=sum(e.grade is not None for _, e in every),
        moved=_count_passages_out_of_order(pairs.values()),
        changed=sum(judge != person for judge, person in _list_grade_pairs(every)),
        tau=_average_kendall_tau(orders, seed),
        swapped=_estimate_share_of_swapped_order_pairs(orders, seed),
        exact=agreement.get("exact", none),
        within_one=agreement.get("within_one", none),
        kappa=agreement.get("kappa", none),
        distance=_median_swapped_distance(orders),
        blind=blind,
        table=tuple(tuple(map(int, row)) for row in filled.sum(axis=0)) if len(filled) else (),
        remarks=tuple(PersonPassageRemark(e.query_id, e.doc_id, e.remark) for _, e in every if e.remark),
        corrected=corrected,
        off=off,
    )


def _estimate_grade_shares_as_by_person(
    lists: Sequence[QuestionFinalList], edits: Mapping[tuple[str, str], PersonPassageJudgement]
) -> tuple[tuple[JudgeAssistedMean, ...], tuple[JudgeBias, ...]]:
    """Shares and the mean of grades over all final lists, as the person would give them; passages of one question are
    not independent. What the judge gave no grade is theirs to say."""
    rows = [
        (place, passage.grade, None if edit is None else edit.grade, passage.place)
        for place, final in enumerate(lists)
        for passage in final.passages
        for edit in [edits.get((final.query_id, passage.doc_id))]
    ]
    if not any(row[1] is not None and row[2] is not None for row in rows):
        return (), ()
    group = np.array([row[0] for row in rows], dtype=np.int64)
    judge = np.array([np.nan if row[1] is None else row[1] for row in rows], dtype=np.float64)
    checked = np.array([row[2] is not None for row in rows], dtype=bool)
    person = np.array([row[2] for row in rows if row[2] is not None], dtype=np.float64)
    ranks = [_format_place_band(row[3]) for row in rows if row[2] is not None]

    refused = np.isnan(judge)

    def estimate_corrected_quantity(
        name: str, value: Callable[[Floats], Floats], bounds: tuple[float, float]
    ) -> JudgeAssistedMean:
        said = np.where(refused, np.nan, value(judge))
        return estimate_judge_assisted_mean(
            name, value(person), said[checked], said, bounds=bounds, groups=group[checked], every_groups=group
        )

    shares = (
        estimate_corrected_quantity(
            "share of grade 4 or 5", lambda grade: (grade >= RELEVANT).astype(np.float64), (0.0, 1.0)
        ),
        estimate_corrected_quantity(
            "share of grade 1 or 2", lambda grade: (grade <= HARMFUL).astype(np.float64), (0.0, 1.0)
        ),
        estimate_corrected_quantity("mean grade", lambda grade: grade, (1.0, 5.0)),
    )
    both = ~refused[checked]
    seen = [rank for rank, is_known in zip(ranks, both, strict=True) if is_known]
    return shares, measure_judge_bias_by_score(person[both], judge[checked][both], seen)


def _format_place_band(place: int) -> str:
    return next((f"at ranks {low} to {high}" for low, high in BANDS if low <= place <= high), "further down")


Pairs = Sequence[tuple[FinalListPassage, PersonPassageJudgement]]


def _pair_passages_with_human_judgements(
    final: QuestionFinalList, edits: Mapping[tuple[str, str], PersonPassageJudgement]
) -> Pairs:
    keys = [(passage, (final.query_id, passage.doc_id)) for passage in final.passages]
    return [(passage, edits[key]) for passage, key in keys if key in edits]


def _list_grade_pairs(pairs: Pairs) -> list[tuple[int, int]]:
    """Grades of the judge and of the person, where there are both."""
    return [(p.grade, e.grade) for p, e in pairs if p.grade is not None and e.grade is not None]


def _compare_person_order_with_judge(pairs: Pairs) -> _PersonJudgeOrderAgreement:
    placed = [(listed.place, edited.place) for listed, edited in pairs if edited.place is not None]
    # Passages that the person put at the same place have no order to be wrong about.
    apart = [(a, b) for a, b in combinations(placed, 2) if a[1] != b[1]]
    wrong = [abs(a[0] - b[0]) for a, b in apart if (a[0] < b[0]) != (a[1] < b[1])]
    tau = float(kendall_tau(*np.array(placed, dtype=np.float64).T)) if len(placed) > 1 else float("nan")
    return _PersonJudgeOrderAgreement(None if np.isnan(tau) else tau, len(wrong), len(apart), tuple(wrong))


def _count_passages_out_of_order(questions: Iterable[Pairs]) -> int:
    """The fewest passages that have to change places to get from the judge's order to the person's: those outside the
    longest part of it that does not fall."""
    moved = 0
    for pairs in questions:
        placed = sorted((listed.place, edited.place) for listed, edited in pairs if edited.place is not None)
        ends: list[float] = []
        for _, place in placed:
            # To the right of equals: passages that the person puts alike need not change places.
            at = bisect_right(ends, place)
            ends[at : at + 1] = [place]
        moved += len(placed) - len(ends)
    return moved


def _average_kendall_tau(orders: Mapping[str, _PersonJudgeOrderAgreement], seed: int) -> Estimate:
    values = [order.tau for order in orders.values() if order.tau is not None]
    if not values:
        return Estimate(None, reason="no question has two ranked passages")
    return bootstrap_ci(values, rng=make_seeded_generator(seed, "human check", "tau"))


def _estimate_share_of_swapped_order_pairs(orders: Mapping[str, _PersonJudgeOrderAgreement], seed: int) -> Estimate:
    counts = np.array([(order.swapped, order.pairs) for order in orders.values() if order.pairs], dtype=np.float64)
    if not len(counts):
        return Estimate(None, reason="all ranks are tied")
    return estimate_share_of_pairs(counts, make_seeded_generator(seed, "human check", "swapped"))


def _median_swapped_distance(orders: Mapping[str, _PersonJudgeOrderAgreement]) -> float | None:
    distances = [distance for order in orders.values() for distance in order.distances]
    return float(median(distances)) if distances else None


FOLDER = "human"
"""Of what people have said, in the folder of a run."""


def write_sampled_lists_for_human_check(
    run: Path, out: Path, sampling: HumanCheckSampling | None = None
) -> list[QuestionFinalList]:
    """Draw questions of a golden run and write their final lists to a file for a person; the lists that went in.

    UsageError for a run without final lists, an ending that is not known, or a file that is there already: it may hold
    somebody's work.
    """
    sampling = sampling or HumanCheckSampling()
    lists = read_final_lists(run)
    chosen = set(sample_question_ids([final.query_id for final in lists], sampling.share, sampling.seed))
    drawn = [final for final in lists if final.query_id in chosen]
    if out.exists():
        raise UsageError(f"{out} already exists.", mend="Choose another file name: this file may contain edits.")
    write_human_check_file(out, drawn, blind=sampling.blind, excerpt=sampling.excerpt, seed=sampling.seed)
    return drawn


def score_edited_check_file(run: Path, file: Path, *, seed: int = 1337) -> HumanCheckOfJudge:
    """What an edited file says of a golden run, and keep it there. DataError with the line for edits that are none."""
    lists = read_final_lists(run)
    edited, blind = read_human_check_file(file, lists)
    checked = {edit.query_id for edit in edited}
    check = score_human_check(lists, edited, file=file.name, blind=blind, seed=seed)
    check = replace(check, lists=_fingerprint_final_lists([final for final in lists if final.query_id in checked]))
    write_file_atomically(
        run / FOLDER / f"{slugify_name(file.stem)}.json",
        format_value_as_json({**asdict(check), "questions": sorted(checked)}) + "\n",
    )
    _write_human_checks_to_record(run)
    return check


def read_human_checks_of_current_lists(run: Path) -> tuple[HumanCheckOfJudge, ...]:
    """What people have said of the run's final lists, by name of their files; of lists that have changed since, no
    more."""
    files = sorted((run / FOLDER).glob("*.json"))
    lists = read_final_lists(run) if files else []
    checks = []
    for path in files:
        try:
            plain = parse_bounded_json(read_bounded_file(path).decode("utf-8"))
            checked = set(plain.pop("questions"))
            check = build_dataclass_from_values(HumanCheckOfJudge, plain)
        except (ValueError, KeyError, TypeError, AttributeError, IndexError) as error:
            raise DataError(
                "the human check cannot be read", path=path, found=str(error),
                mend="Delete it and score the edited file again."
            ) from error  # fmt: skip
        if check.lists == _fingerprint_final_lists([final for final in lists if final.query_id in checked]):
            checks.append(check)
    return tuple(checks)


def count_checked_questions(run: Path) -> int:
    """How many questions people have checked."""
    wanted = {check.lists for check in read_human_checks_of_current_lists(run)}
    names: set[str] = set()
    for path in (run / FOLDER).glob("*.json"):
        plain = parse_bounded_json(read_bounded_file(path).decode("utf-8"))
        # A check of lists that have changed since says nothing of the present ones.
        names |= set(plain["questions"]) if plain["lists"] in wanted else set()
    return len(names)


def _write_human_checks_to_record(run: Path) -> None:
    """Put what people say into the run's record, where there is one."""
    path = run / "golden.json"
    if path.exists():
        golden = read_golden_record(path)
        labels = {**golden.labels, "n_human_validated": count_checked_questions(run)}
        write_golden_record(path, replace(golden, human=read_human_checks_of_current_lists(run), labels=labels))


def _fingerprint_final_lists(lists: Sequence[QuestionFinalList]) -> str:
    return digest_json([[final.query_id, [[p.doc_id, p.place, p.grade] for p in final.passages]] for final in lists])
