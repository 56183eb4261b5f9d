"""Several judges of the same passages: how they agree, with people too, one grade from all, and what each costs.

A judge is a finished golden run, or a file of its grades. What they are compared on are the passages that both graded;
a panel's grade is that of every passage that at least one has graded.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from embassay.data.judged_runs import read_qrels_entries
from embassay.errors import UsageError
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.claims import Claim
from embassay.protocols.kernel.estimates import UNVARIED
from embassay.protocols.kernel.tables import (
    ColumnTable,
    ComputedColumn,
    interval_columns,
    number_column,
    text,
    whole_number_column,
    write_tables,
)
from embassay.protocols.rag.golden.checks import count_grade_transitions, estimate_grade_agreement
from embassay.protocols.rag.golden.grades import Key
from embassay.protocols.rag.scoring.inputs import map_judgement_grades, parse_named_path
from embassay.randomness import make_seeded_generator
from embassay.runs.folder import RunFolder, write_file_atomically, write_json
from embassay.stats import Estimate
from embassay.stats.consensus import MISSING, JudgeConsensus, compute_median_votes, estimate_dawid_skene_classes
from embassay.stats.resampling import count_draws_of_each_row, draw_all_resample_rows, percentile_interval

Floats = NDArray[np.float64]
By = Literal["median", "dawid_skene"]
PANELS: tuple[By, ...] = get_args(By)
GRADES = 5
RESAMPLES = 1_000
FILE = "panel.json"


@dataclass(frozen=True)
class JudgeGrades:
    """A judge's grades, 1 to 5, by question and passage; `usd` is what they cost, None where nobody knows."""

    name: str
    grades: Mapping[Key, int]
    usd: float | None = None

    @property
    def per_thousand(self) -> float | None:
        """US dollars for 1,000 grades."""
        return None if self.usd is None or not self.grades else 1000 * self.usd / len(self.grades)


@dataclass(frozen=True)
class JudgeAgreementWithPeople:
    """A judge, or a panel, beside people: agreement figures over `items`; empty without people. `mean` is its mean
    grade. `usd` and `per_thousand` are its price."""

    name: str
    items: int
    mean: float | None
    people: Mapping[str, Estimate] = field(default_factory=dict)
    usd: float | None = None
    per_thousand: float | None = None


@dataclass(frozen=True)
class JudgePairComparison:
    """Two judges on the passages that both graded; `shift` is the mean of the second less the first."""

    first: str
    second: str
    items: int
    figures: Mapping[str, Estimate]


@dataclass(frozen=True)
class JudgePanelResult:
    """What several judges come to: each, the pairs of them, Krippendorff's alpha of all, and both panels' grades by
    question and passage. `learned` are what the model of Dawid and Skene says of each judge: how often it is right."""

    judges: tuple[JudgeAgreementWithPeople, ...]
    panels: tuple[JudgeAgreementWithPeople, ...]
    pairs: tuple[JudgePairComparison, ...]
    alpha: Estimate
    learned: Mapping[str, float]
    rounds: int
    converged: bool
    grades: Mapping[str, Mapping[Key, int]] = field(repr=False)
    items: int = 0
    queries: int = 0

    def as_dict(self) -> dict[str, Any]:
        """As `panel.json` has it, without the grades."""
        return {key: value for key, value in asdict(self).items() if key != "grades"}


def read_grades_of_one_judge(given: str, grades: str | None = None) -> JudgeGrades:
    """The judge of `NAME=PATH` or `PATH`: a golden run, whose manifest has the price, or a file of judgements through
    the grade map `grades`. DataError or UsageError for what is neither."""
    name, path = parse_named_path(given)
    if not (path / "export" / "qrels.tsv").is_file():
        return JudgeGrades(name, _read_judge_grade_file(path, grades))
    manifest = RunFolder(path).read_manifest() or {}
    judge = str(manifest.get("arguments", {}).get("judge", ""))
    spent = manifest.get("spent", {}).get("systems", {}).get(judge, {})
    usd = spent.get("usd", 0.0 if not spent else None)
    return JudgeGrades(
        name if "=" in given else judge or name, _read_judge_grade_file(path / "export" / "qrels.tsv", None), usd
    )


def _read_judge_grade_file(path: Path, grades: str | None) -> dict[Key, int]:
    frame = map_judgement_grades(read_qrels_entries(path), grades).frame
    return {(query, doc): int(grade) for query, doc, grade in frame.iter_rows()}


def compare_judges_and_make_panel(
    judges: Sequence[JudgeGrades], people: JudgeGrades | None = None, *, seed: int = 1337
) -> JudgePanelResult:
    """Compare the judges with each other and with people, and make a panel of them.

    Intervals are over questions, resampled with replacement. UsageError for fewer than two judges, two of one name,
    and judges without a passage in common.
    """
    names = [judge.name for judge in judges]
    if len(judges) < 2 or len(set(names)) < len(names):
        raise UsageError(
            f"A panel needs two or more different judges, found: {', '.join(names) or 'none'}.",
            mend="Give each judge once; use NAME=RUN if two have the same name.",
        )
    keys = sorted({key for judge in judges for key in judge.grades})
    # Classes from 0 on; no grade becomes -1, which is MISSING.
    votes = np.array([[judge.grades.get(key, 0) - 1 for judge in judges] for key in keys], dtype=np.int64)
    if not ((votes != MISSING).sum(axis=1) > 1).any():
        raise UsageError(
            "No passage was graded by two of the judges.", mend="Have the judges grade the same questions and passages."
        )
    model = estimate_dawid_skene_classes(votes, GRADES)
    grades = {
        "median": _make_grade_by_key_from_classes(keys, compute_median_votes(votes)),
        "dawid_skene": _make_grade_by_key_from_classes(keys, model.labels),
    }
    total = None if any(judge.usd is None for judge in judges) else float(sum(judge.usd or 0.0 for judge in judges))
    panels = [JudgeGrades(by, grades[by], total) for by in PANELS]
    return JudgePanelResult(
        tuple(_compare_judge_with_people(judge, people, seed) for judge in judges),
        tuple(_compare_judge_with_people(panel, people, seed) for panel in panels),
        tuple(_compare_judge_pair(first, second, seed) for first, second in combinations(judges, 2)),
        measure_krippendorff_alpha(keys, votes, seed=seed),
        _estimate_accuracy_of_each_judge(names, model),
        model.rounds,
        model.converged,
        grades,
        len(keys),
        len({key[0] for key in keys}),
    )


def _make_grade_by_key_from_classes(keys: Sequence[Key], classes: NDArray[np.int64]) -> dict[Key, int]:
    return {key: int(vote) + 1 for key, vote in zip(keys, classes, strict=True) if vote != MISSING}


def _estimate_accuracy_of_each_judge(names: Sequence[str], model: JudgeConsensus) -> dict[str, float]:
    """How often each judge says the true class, by the model: the diagonal of its confusion, weighed by the classes."""
    diagonals = np.einsum("jtt,t->j", model.confusion, model.prior)
    return dict(zip(names, diagonals.tolist(), strict=True))


def _compare_judge_with_people(judge: JudgeGrades, people: JudgeGrades | None, seed: int) -> JudgeAgreementWithPeople:
    mean = float(np.mean(list(judge.grades.values()))) if judge.grades else None
    figures = {} if people is None else _measure_grade_agreement(people.grades, judge.grades, seed)
    items = len(judge.grades) if people is None else len(people.grades.keys() & judge.grades.keys())
    return JudgeAgreementWithPeople(judge.name, items, mean, figures, judge.usd, judge.per_thousand)


def _compare_judge_pair(first: JudgeGrades, second: JudgeGrades, seed: int) -> JudgePairComparison:
    common = len(first.grades.keys() & second.grades.keys())
    return JudgePairComparison(
        first.name, second.name, common, _measure_grade_agreement(first.grades, second.grades, seed)
    )


def _measure_grade_agreement(first: Mapping[Key, int], second: Mapping[Key, int], seed: int) -> dict[str, Estimate]:
    """Agreement on the passages that both have, by questions."""
    by_query: dict[str, list[tuple[int, int]]] = {}
    for key in sorted(first.keys() & second.keys()):
        by_query.setdefault(key[0], []).append((first[key], second[key]))
    if not by_query:
        return {}
    return estimate_grade_agreement(
        np.array([count_grade_transitions(pairs) for pairs in by_query.values()]), seed=seed
    )


def measure_krippendorff_alpha(keys: Sequence[Key], votes: NDArray[np.int64], *, seed: int = 1337) -> Estimate:
    """Krippendorff's alpha of the judges' grades as ordered classes, over passages with two grades or more; its
    interval is over questions. None where all grades are one and the same."""
    queries = list(dict.fromkeys(key[0] for key in keys))
    row = {query: place for place, query in enumerate(queries)}
    tables = np.zeros((len(queries), GRADES, GRADES))
    counts = (votes[:, :, None] == np.arange(GRADES)).sum(axis=1).astype(np.float64)
    sizes = counts.sum(axis=1)
    for key, count, size in zip(keys, counts, sizes, strict=True):
        if size > 1:
            # Krippendorff's coincidences: every pair of grades of a passage, which counts as its number of grades.
            tables[row[key[0]]] += (np.outer(count, count) - np.diag(count)) / (size - 1)
    n, value = int((sizes > 1).sum()), _compute_ordinal_alpha(tables.sum(axis=0))
    if np.isnan(value):
        return Estimate(None, n=n, reason="all grades are the same")
    if len(queries) < 2:
        return Estimate(value, n=n, reason="no interval from one question")
    drawn = count_draws_of_each_row(
        draw_all_resample_rows(len(queries), RESAMPLES, make_seeded_generator(seed, "panel", "alpha"))
    )
    alphas = np.array(
        [_compute_ordinal_alpha(np.tensordot(weights, tables, axes=1)) for weights in drawn.astype(np.float64)]
    )
    # A resample in which all grades are one and the same has no alpha.
    low, high = percentile_interval(alphas[~np.isnan(alphas)])
    if np.isnan(low):
        return Estimate(value, n=n, reason=UNVARIED)
    return Estimate(value, low, high, n, "bootstrap over questions")


def _compute_ordinal_alpha(coincidences: Floats) -> float:
    """Of a matrix of coincidences of ordered classes: 1 - observed over expected disagreement."""
    totals = coincidences.sum(axis=1)
    n = totals.sum()
    # The ordinal metric: how many grades lie between two classes, half of each own class with them.
    below = np.cumsum(totals) - totals / 2
    distance = (below[:, None] - below) ** 2
    expected = (np.outer(totals, totals) * distance).sum()
    return float("nan") if expected <= 0 else float(1 - (n - 1) * (coincidences * distance).sum() / expected)


NAMED = {"exact": "Same grade", "within_one": "Within one", "kappa": "Weighted kappa", "shift": "Shift"}


def build_judge_panel_tables(panel: JudgePanelResult) -> Iterator[ColumnTable]:
    """`rag_judges`: each judge and both panels beside people, with prices; `rag_judge_pairs`: the judges beside each
    other."""
    figures: tuple[ComputedColumn, ...] = ()
    note = ""
    if any(judge.people for judge in (*panel.judges, *panel.panels)):
        figures = tuple(_list_agreement_columns("judge.people"))
        note = "Agreement is with people's grades; shift is the judge's mean grade minus people's."
    judges = [{"judge": judge, "kind": "judge", "right": panel.learned.get(judge.name)} for judge in panel.judges]
    teams = [{"judge": team, "kind": "panel"} for team in panel.panels]
    yield ColumnTable.of(
        "rag_judges", "Judges and panels", [*judges, *teams], text("Judge", "judge.name"), text("Kind", "kind"),
        whole_number_column("Grades", "judge.items"), number_column("Mean grade", "judge.mean"), *figures,
        number_column("Estimated accuracy", "right", 3), number_column("USD", "judge.usd", 4),
        number_column("USD per 1,000", "judge.per_thousand", 4), note=note
    )  # fmt: skip
    yield ColumnTable.of(
        "rag_judge_pairs", "Judges compared", panel.pairs, text("Judge", "first"),
        text("Other judge", "second"), whole_number_column("Both graded", "items"),
        *_list_agreement_columns("figures")
    )  # fmt: skip


def _list_agreement_columns(find: str) -> Iterator[ComputedColumn]:
    for name, title in NAMED.items():
        ends = (title, f"low ({title})", f"high ({title})")
        yield from interval_columns(f"{find}.{name}", ends, "signed" if name == "shift" else "number", 3, 1)


def list_judge_panel_terminal_tables(panel: JudgePanelResult) -> Iterator[tuple[list[str], list[list[str]]]]:
    """Titles and rows for a terminal: judges and panels beside people, with their price; judges beside each other."""
    titles = ["judge", "kind", "grades", "kappa with people", "same grade", "shift", "$/1,000"]
    rows = [
        [judge.name, kind, f"{judge.items:,}",
         *(_format_estimate_or_not_available(judge.people.get(name)) for name in ("kappa", "exact", "shift")),
         "n/a" if judge.per_thousand is None else f"{judge.per_thousand:.4g}"]
        for kind, judges in (("judge", panel.judges), ("panel", panel.panels)) for judge in judges
    ]  # fmt: skip
    yield titles, rows
    titles = ["judge", "other judge", "both", "kappa", "same grade", "shift"]
    yield titles, [
        [pair.first, pair.second, f"{pair.items:,}",
         *(_format_estimate_or_not_available(pair.figures.get(name)) for name in ("kappa", "exact", "shift"))]
        for pair in panel.pairs
    ]  # fmt: skip


def _format_estimate_or_not_available(figure: Estimate | None) -> str:
    if figure is None or figure.value is None:
        return "n/a"
    ends = "" if figure.low is None else f" {numbers.format_interval(*figure.ends)}"
    return f"{numbers.format_score(figure.value)}{ends}"


def write_judge_panel(out: Path, panel: JudgePanelResult, by: By) -> Path:
    """Write `panel.json`, the tables, and the grades of the panel `by` as `qrels.tsv`, which is returned."""
    out.mkdir(parents=True, exist_ok=True)
    write_json(out / FILE, panel.as_dict())
    write_tables(out, build_judge_panel_tables(panel))
    lines = [f"{query}\t{doc}\t{grade}" for (query, doc), grade in sorted(panel.grades[by].items())]
    path = out / "qrels.tsv"
    write_file_atomically(path, "\n".join(["query-id\tcorpus-id\tscore", *lines]) + "\n")
    return path


def phrase_judge_panel_verdict(panel: JudgePanelResult) -> str:
    """What to know first: how far the judges agree, and which of all stands nearest to people."""
    figure = panel.alpha
    ends = "" if figure.low is None else f" ({figure.low:.2f} to {figure.high:.2f})"
    agree = "cannot be computed" if figure.value is None else f"is {figure.value:.2f}{ends}"
    text = f"Krippendorff's alpha of {len(panel.judges)} judges {agree} on {figure.n:,} passages."
    for claim in claim_judge_nearest_people(panel):
        text += f" {claim.subject} agrees best with people (weighted kappa {claim.value:.2f})."
    return text


def claim_judge_nearest_people(panel: JudgePanelResult) -> tuple[Claim, ...]:
    """Which of all judges and panels agrees best with people; none without people."""
    kappas = {
        judge.name: judge.people["kappa"].value
        for judge in (*panel.judges, *panel.panels)
        if judge.people and judge.people["kappa"].value is not None
    }
    if not kappas:
        return ()
    best = max(kappas, key=lambda name: kappas[name] or 0.0)
    others = tuple(name for name in kappas if name != best)
    return (Claim(best, "most", "kappa", others, kappas[best]),)
