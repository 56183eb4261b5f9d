"""Fit the weights of `embassay choose` on labelled collections, and hold them against each that was left out.

    python benchmarks/choose_fit.py --work WORK [--write] > benchmarks/results/choose.md

WORK is what choose_collections.py wrote. `--write` replaces weights.json in the package. Every figure of a collection
is of weights fitted on the others alone. A set is some of the systems, drawn at random: what a user would choose among.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Container, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from embassay.protocols.choose.belief import (
    CHANCE,
    NUGGET,
    Belief,
    Evidence,
    Weights,
    fit_weights,
    form_belief,
    gather_evidence,
    update_belief,
    whiten_scores,
)
from embassay.protocols.choose.conclusions import SIGNALS, in_common
from embassay.protocols.choose.options import FOUND, ChoiceOptions
from embassay.protocols.choose.questions import AGREED, FITTED, passage_gains, passage_nearness
from embassay.randomness import generator
from embassay.runs.folder import to_json, write_atomic
from embassay.stats.ranks import kendall_tau

RIDGE = 0.003
LONG = 350
"""Most passages of a collection whose passages have 50 words and more on average, as choose_collections.py cuts."""
FACTORS = (1.0, 0.7, 0.5, 0.35, 0.25)
"""Of the error's scale, of which the one is taken under which what came true on the other collections was likeliest."""
TRIED = (*FITTED, "apart", "reworded")
"""Families that were tried as signals, those that count first."""
RIDGES = (0.003, 0.03, 0.3)
"""Of weights of all five signals, which are compared with the score that is shipped."""
SIZES = (3, 4, 5, 6, 8)
SETS = 12
"""Sets of each size, of every collection."""
FITTED_SETS = ((4, 4), (6, 4), (8, 4), (12, 4))
"""Size and number of the sets that weights are fitted on, beside all systems."""
LABELS = (0, 5, 10, 20, 40, 80)
BINS = 5
TOLERANCE = ChoiceOptions().tolerance
Values = NDArray[np.float64]
PLACE = Path(__file__).parent.parent / "src/embassay/protocols/choose/weights.json"


@dataclass(frozen=True)
class Measured:
    """A collection as it was measured: signals are of the families that were tried, (questions, systems) each, shares
    what two systems have in common, (questions, systems, systems), truth is (questions, systems), naive nDCG@10 of the
    sentences taken out, keywords that of every question of keywords, (questions, systems)."""

    name: str
    passages: int
    systems: tuple[str, ...]
    signals: tuple[Values, ...]
    shares: Values
    truth: Values
    naive: Values
    keywords: Values

    @property
    def agreement(self) -> Values:
        """Of two systems each, over all questions."""
        return np.asarray(self.shares.mean(axis=0))

    def evidence(
        self, rows: NDArray[np.int64], which: Sequence[int] = (0, 1), chance: float = CHANCE
    ) -> Evidence:
        """Of some of the systems, by the signals that count or others of those tried."""
        shares = self.shares[:, rows[:, None], rows]
        return gather_evidence([self.signals[one][:, rows] for one in which], shares, chance)

    @property
    def mean(self) -> Values:
        """nDCG@10 of every system."""
        return np.asarray(self.truth.mean(axis=0))


@dataclass(frozen=True)
class Outcome:
    """What came of a choice among a set: the regrets of the naive rule and of bm25 (NaN where it is not in the set);
    `found` is how near the first place the best system finds passages by their sentences."""

    collection: str
    found: float
    belief: Belief
    truth: Values
    naive: float
    bm25: float

    @property
    def regrets(self) -> Values:
        """Of every system of the set."""
        return np.asarray(self.truth.max() - self.truth)

    @property
    def regret(self) -> float:
        """Of the pick."""
        return float(self.regrets[self.belief.pick])

    @property
    def says(self) -> bool:
        """Whether the pick is named without a doubt."""
        return self.found >= FOUND and bool(self.belief.regret[self.belief.pick] <= TOLERANCE)


def main() -> None:
    """Print the page, and write the weights where that is asked for."""
    given = argparse.ArgumentParser(description=__doc__)
    given.add_argument("--work", type=Path, required=True)
    given.add_argument("--write", action="store_true")
    asked = given.parse_args()
    measured = [read(path) for path in sorted(asked.work.glob("*.json"))]
    training = [list(_training(one)) for one in measured]
    per_question = float(np.mean([_per_question(one) for one in measured]))
    scales = np.array([_asked_error(one) for one in measured])
    raw = [fit_weights(_without(training, k), RIDGE) for k in range(len(measured))]
    losses = np.array([_losses(one, weights) for one, weights in zip(measured, raw, strict=True)])
    if asked.write:
        factor = FACTORS[int(losses.sum(axis=0).argmin())]
        found = _weights(measured, training, per_question, float(scales.mean()), factor)
        write_atomic(PLACE, to_json(found, indent=1) + "\n")
    factors = [FACTORS[int(np.delete(losses, k, axis=0).sum(axis=0).argmin())] for k in range(len(measured))]
    left_out = [replace(own, scale=own.scale * factor) for own, factor in zip(raw, factors, strict=True)]
    outcomes = _all_outcomes(measured, left_out)
    long = {one.name for one in measured if one.passages <= LONG}
    print("\n".join([*_page(measured, left_out, outcomes), *_main_figures(outcomes, long)]))
    print("\n".join(_calibration(_all_outcomes(measured, raw), outcomes, factors)))
    print("\n".join(_with_labels(measured, left_out, per_question)))
    print("\n".join(_with_a_model(measured, left_out, per_question, scales)))
    print("\n".join(_ceiling(measured, left_out)))
    print("\n".join(_rules(measured)))
    print("\n".join(_taus(measured)))


def _without(training: Sequence[Any], k: int) -> list[Any]:
    return [part for place, part in enumerate(training) if place != k]


def _all_outcomes(measured: Sequence[Measured], weights: Sequence[Weights]) -> list[Outcome]:
    return [made for one, own in zip(measured, weights, strict=True) for made in _outcomes(one, own)]


def _losses(one: Measured, weights: Weights) -> list[float]:
    """Minus the mean logarithm of what was stated of the best, under each factor."""
    found = []
    for factor in FACTORS:
        made = _outcomes(one, replace(weights, scale=weights.scale * factor))
        found.append(
            float(
                np.mean(
                    [-np.log(max(float(each.belief.best[each.regrets <= 1e-9].sum()), 1e-3)) for each in made]
                )
            )
        )
    return found


def read(path: Path) -> Measured:
    """What choose_collections.py wrote of a collection."""
    plain = json.loads(path.read_text("utf-8"))
    systems = tuple(plain["systems"])
    signals = tuple(
        np.array([passage_nearness(np.array(plain["found"][one][family])) for one in systems]).T
        for family in TRIED
    )
    sentences, keywords = (
        np.array([_ndcg(plain["found"][one].get(family, [])) for one in systems]).T
        for family in ("sentence", "keywords")
    )
    return Measured(
        plain["name"], plain["passages"], systems, signals, _shares(plain, systems),
        np.array([plain["truth"][one] for one in systems]).T, sentences.mean(axis=0), keywords,
    )  # fmt: skip


def _ndcg(places: Sequence[int]) -> Values:
    found = np.array(places, int)
    return passage_gains(np.where(found <= 10, found, 0))


def _shares(plain: dict[str, Any], systems: Sequence[str]) -> Values:
    return in_common(
        [
            {
                family: {
                    str(place): frozenset(row for row in ten if row >= 0)
                    for place, ten in enumerate(plain["first"][one][family])
                }
                for family in AGREED
            }
            for one in systems
        ]
    )


def _training(one: Measured) -> Iterator[tuple[Evidence, Values]]:
    for some in _fitted_sets(one):
        yield one.evidence(some), one.mean[some]


def _fitted_sets(one: Measured) -> list[NDArray[np.int64]]:
    rng = generator(1337, "fit", one.name)
    n = len(one.systems)
    rows = [np.arange(n)]
    return rows + [
        np.sort(rng.choice(n, size, replace=False)) for size, many in FITTED_SETS for _ in range(many)
    ]


def _per_question(one: Measured) -> float:
    """The variance of one question's nDCG@10 per unit of disagreement."""
    off = one.truth - one.truth.mean(axis=1, keepdims=True)
    varied = np.var(off - off.mean(axis=0), axis=0).mean()
    apart = (1 + NUGGET) * np.ones(len(one.systems)) - one.agreement.mean(axis=1)
    return float(varied / apart.mean())


def _main_figures(outcomes: Sequence[Outcome], long: Container[str]) -> Iterator[str]:
    """Regret over all collections, and by the length of their passages."""
    made = outcomes
    names = list(dict.fromkeys(one.collection for one in made))
    yield "\n## All collections, and by the length of passages\n"
    yield (
        "Passages of fewer than 50 words on average mostly have no sentence to spare, and ask with a half of "
        "themselves. This split was made after results had been seen.\n"
    )
    yield "| Of | Collections | Choose | Naive | By lot | Choose / naive | 95% | Better than naive |"
    yield "|---|---:|---:|---:|---:|---:|---|---:|"
    groups = (
        ("all", names),
        ("passages of 50 words and more", [name for name in names if name in long]),
        ("of fewer", [name for name in names if name not in long]),
    )
    for title, some in groups:
        means = _means(made, some)
        own, naive, lot = means.mean(axis=0)
        low, high = _ratio(means)
        better = int((means[:, 0] < means[:, 1]).sum())
        share = f"{own / naive:.2f} | {low:.2f} to {high:.2f}" if len(some) > 1 else f"{own / naive:.2f} | "
        yield f"| {title} | {len(some)} | {own:.4f} | {naive:.4f} | {lot:.4f} | {share} | {better} |"
    gaps = _means(made, names)[:, :2] @ [1, -1]
    needed = ((1.96 + 0.84) * gaps.std(ddof=1) / (_means(made, names)[:, 1].mean() / 2)) ** 2
    yield (
        f"\nTo tell half of the naive regret from all of it (5%, four times in five), about {needed:.0f} collections "
        "like these would be needed."
    )


def _means(outcomes: Sequence[Outcome], names: Sequence[str]) -> Values:
    """Mean regret of choose, of the naive rule and by lot on each collection, (collections, 3)."""
    by = ([made for made in outcomes if made.collection == name] for name in names)
    return np.array([[(made.regret, made.naive, made.regrets.mean()) for made in some] for some in by]).mean(
        axis=1
    )


def _ratio(means: Values) -> tuple[float, float]:
    """The 95% interval of the ratio of the first two columns over collections drawn again."""
    rng = generator(1337, "bootstrap", "collections")
    drawn = [means[rng.integers(len(means), size=len(means))].mean(axis=0) for _ in range(2000)]
    low, high = np.quantile([own / naive for own, naive, *_ in drawn], [0.025, 0.975])
    return float(low), float(high)


def _asked_error(one: Measured) -> float:
    """The mean square, per unit of disagreement, of how far nDCG@10 of questions of keywords lies from the truth."""
    own = one.keywords.mean(axis=0)[:, None]
    x, y = whiten_scores(Evidence(own, one.agreement, own), one.mean)
    return float(np.mean((y - x[:, 0]) ** 2))


def _weights(
    measured: Sequence[Measured], training: Any, per_question: float, asked_scale: float, factor: float
) -> dict[str, Any]:
    found = fit_weights(training, RIDGE)
    return {
        "signals": list(SIGNALS),
        "weights": found.weights.round(6).tolist(),
        "covariance": found.covariance.round(8).tolist(),
        "scale": round(found.scale * factor, 8),
        "factor": factor,
        "freedom": round(found.freedom, 4),
        "per_question": round(per_question, 6),
        "asked_scale": round(asked_scale, 6),
        "ridge": RIDGE,
        "collections": [one.name for one in measured],
        "systems": len(measured[0].systems),
        "made_by": "benchmarks/choose_fit.py",
    }


def _sets(one: Measured) -> Iterator[NDArray[np.int64]]:
    rng = generator(1337, "sets", one.name)
    for size in SIZES:
        for _ in range(SETS):
            yield np.sort(rng.choice(len(one.systems), size, replace=False))


def _outcomes(one: Measured, weights: Weights) -> Iterator[Outcome]:
    for rows in _sets(one):
        yield outcome(one, weights, rows)


def outcome(one: Measured, weights: Weights, rows: NDArray[np.int64]) -> Outcome:
    """What comes of a choice among these systems."""
    truth = one.mean[rows]
    gaps = truth.max() - truth
    names = [one.systems[row] for row in rows]
    bm25 = float(gaps[names.index("bm25")]) if "bm25" in names else float("nan")
    seen = one.evidence(rows)
    naive, found = float(gaps[one.naive[rows].argmax()]), float(seen.values[:, 0].max())
    return Outcome(one.name, found, form_belief(weights, seen), truth, naive, bm25)


def _page(
    measured: Sequence[Measured], weights: Sequence[Weights], outcomes: Sequence[Outcome]
) -> Iterator[str]:
    yield HEAD.format(
        collections=len(measured), systems=len(measured[0].systems), sets=len(outcomes), tolerance=TOLERANCE
    )
    yield from _by_collection(measured, weights, outcomes)
    yield from _summary(outcomes)
    yield from _reliability(outcomes)
    yield from _doubts(outcomes)


def _by_collection(
    measured: Sequence[Measured], weights: Sequence[Weights], outcomes: Sequence[Outcome]
) -> Iterator[str]:
    yield "\n## Every collection, by weights of the others\n"
    yield "Tau, best and pick are of all systems at once; regrets are means over the sets.\n"
    yield (
        "| Collection | Passages | Questions | Tau | Best | Pick | Its regret | Sets: regret | Naive | bm25 | "
        "By lot |"
    )
    yield "|---|---:|---:|---:|---|---|---:|---:|---:|---:|---:|"
    for one, own in zip(measured, weights, strict=True):
        every = outcome(one, own, np.arange(len(one.systems)))
        tau = float(kendall_tau(every.belief.mean, one.mean))
        some = [made for made in outcomes if made.collection == one.name]
        yield (
            f"| {one.name} | {one.passages:,} | {len(one.truth)} | {tau:.2f} | {one.systems[int(one.mean.argmax())]} "
            f"{one.mean.max():.3f} | {one.systems[every.belief.pick]} | {every.regret:.3f} | {_regrets(some)} |"
        )


def _regrets(some: Sequence[Outcome]) -> str:
    bm25 = float(np.nanmean([made.bm25 for made in some]))
    lot = float(np.mean([made.regrets.mean() for made in some]))
    own, naive = (float(np.mean([getattr(made, name) for made in some])) for name in ("regret", "naive"))
    return " | ".join(f"{value:.4f}" for value in (own, naive, bm25, lot))


def _summary(outcomes: Sequence[Outcome]) -> Iterator[str]:
    collections = list(dict.fromkeys(made.collection for made in outcomes))
    retrieval = [name for name in collections if name in ("scifact", "cranfield", "med")]
    yield "\n## Mean regret, nDCG@10\n"
    yield "| Of | Choose | Naive | bm25 | By lot | Choose / naive | Choose / by lot | Tau in a set |"
    yield "|---|---:|---:|---:|---:|---:|---:|---:|"
    for title, names in (("all collections", collections), ("SciFact, Cranfield and MED", retrieval)):
        some = [made for made in outcomes if made.collection in names]
        own, naive = (np.mean([getattr(made, name) for made in some]) for name in ("regret", "naive"))
        lot = np.mean([made.regrets.mean() for made in some])
        tau = np.nanmean([float(kendall_tau(made.belief.mean, made.truth)) for made in some])
        yield f"| {title} | {_regrets(some)} | {own / naive:.2f} | {own / lot:.2f} | {tau:.2f} |"
    low, high = _ratio(_means(outcomes, collections))
    yield f"\nChoose / naive over collections drawn again: 95% from {low:.2f} to {high:.2f}."


def _reliability(outcomes: Sequence[Outcome]) -> Iterator[str]:
    stated = np.concatenate([made.belief.best for made in outcomes])
    came = np.concatenate([(made.regrets <= 1e-9) / (made.regrets <= 1e-9).sum() for made in outcomes])
    even = np.concatenate([np.full(len(made.truth), 1 / len(made.truth)) for made in outcomes])
    yield "\n## P(best), and what came true\n"
    yield f"Brier {np.mean((stated - came) ** 2):.4f}; of equal shares {np.mean((even - came) ** 2):.4f}.\n"
    yield "| Stated | Systems in sets | Mean stated | Came true | Difference |"
    yield "|---|---:|---:|---:|---:|"
    which = np.minimum((stated * BINS).astype(int), BINS - 1)
    for place in range(BINS):
        rows = which == place
        if rows.any():
            a, b = stated[rows].mean(), came[rows].mean()
            ends = f"{place / BINS:.1f} to {(place + 1) / BINS:.1f}"
            yield f"| {ends} | {rows.sum():,} | {a:.2f} | {b:.2f} | {b - a:+.2f} |"


def _doubts(outcomes: Sequence[Outcome]) -> Iterator[str]:
    yield "\n## When it names one, and when it cannot say\n"
    yield f"| | Share of sets | Expected regret | Regret | Within {TOLERANCE:g}, stated | Came true |"
    yield "|---|---:|---:|---:|---:|---:|"
    for title, sure in (("names one", True), ("cannot say", False)):
        some = [made for made in outcomes if made.says is sure]
        if some:
            expected = np.mean([made.belief.regret[made.belief.pick] for made in some])
            stated = np.mean([made.belief.near(TOLERANCE)[made.belief.pick] for made in some])
            true = np.mean([made.regret <= TOLERANCE for made in some])
            regret = np.mean([made.regret for made in some])
            share = len(some) / len(outcomes)
            yield f"| {title} | {share:.0%} | {expected:.3f} | {regret:.3f} | {stated:.2f} | {true:.2f} |"


def _with_labels(
    measured: Sequence[Measured], weights: Sequence[Weights], per_question: float
) -> Iterator[str]:
    yield "\n## With a few labels\n"
    yield "Judged questions drawn from a collection's own; regret is over all of them. Sets of five systems.\n"
    yield "| Judged questions | Signals and labels | Labels alone |"
    yield "|---|---:|---:|"
    found: dict[int, list[tuple[float, float]]] = {}
    for one, own in zip(measured, weights, strict=True):
        rng = generator(1337, "labels", one.name)
        for _ in range(20):
            rows = np.sort(rng.choice(len(one.systems), 5, replace=False))
            before, gaps = form_belief(own, one.evidence(rows)), one.mean[rows].max() - one.mean[rows]
            noise = per_question * (one.agreement[np.ix_(rows, rows)] + NUGGET * np.eye(5))
            order = rng.permutation(len(one.truth))
            for n in LABELS:
                values = one.truth[order[:n]][:, rows]
                after = update_belief(before, values, noise) if n else before
                alone = gaps[values.mean(axis=0).argmax()] if n else gaps.mean()
                found.setdefault(n, []).append((float(gaps[after.pick]), float(alone)))
    for n, some in found.items():
        both, alone = np.mean(some, axis=0)
        yield f"| {n} | {both:.4f} | {alone:.4f} |"


def _with_a_model(
    measured: Sequence[Measured], weights: Sequence[Weights], per_question: float, scales: Values
) -> Iterator[str]:
    """No model was asked here: others' questions stand in for its, the worst and the best that they could be."""
    yield "\n## Questions by a model\n"
    yield (
        "They count as one more observation of the systems' nDCG@10, which may be off as far as that of keywords is, "
        f"the worst of the documents' own questions: mean square {scales.mean():.4f} per unit of disagreement (of the "
        f"fitted signals: {np.mean([one.scale for one in weights]):.4f}), however many they are. No model was asked "
        "here. Stand-ins: questions of keywords, which are nobody's, and 40 of the people's own questions, which are "
        "the truth. The error of sentences was tried first; that of keywords replaced it when the table showed "
        "harm.\n"
    )
    yield "| Stand-in | Sets | Regret without | With | Brier without | With |"
    yield "|---|---:|---:|---:|---:|---:|"
    for title in ("keywords", "people's"):
        rows = [
            row
            for place, (one, own) in enumerate(zip(measured, weights, strict=True))
            for row in _stood_in(one, own, title, per_question, float(np.delete(scales, place).mean()))
        ]
        values = np.array(rows).mean(axis=0)
        regrets, briers = (" | ".join(f"{value:.4f}" for value in values[a : a + 2]) for a in (0, 2))
        yield f"| {title} | {len(rows)} | {regrets} | {briers} |"


def _stood_in(
    one: Measured, own: Weights, title: str, per_question: float, scale: float
) -> Iterator[tuple[float, float, float, float]]:
    rng = generator(1337, "stand-in", one.name)
    values = one.keywords
    if title != "keywords":
        values = one.truth[rng.permutation(len(one.truth))[:40]]
    for _ in range(24 if len(values) else 0):
        rows = np.sort(rng.choice(len(one.systems), 5, replace=False))
        truth, kernel = one.mean[rows], one.agreement[np.ix_(rows, rows)] + NUGGET * np.eye(5)
        before = form_belief(own, one.evidence(rows))
        after = update_belief(before, values[:, rows], per_question * kernel, scale * kernel)
        gaps = truth.max() - truth
        came = (gaps <= 1e-9) / (gaps <= 1e-9).sum()
        regrets, briers = zip(
            *((gaps[each.pick], np.mean((each.best - came) ** 2)) for each in (before, after)), strict=True
        )
        yield (*map(float, regrets), *map(float, briers))  # type: ignore[misc]


def _ceiling(measured: Sequence[Measured], weights: Sequence[Weights]) -> Iterator[str]:
    """What half of the judged questions would have picked, for the other half."""
    yield "\n## How much better it could be\n"
    yield "Truth is that of a few questions too. Each rule's regret on half of them, sets of three to eight:\n"
    yield "| Picked by | Mean regret on the other half |"
    yield "|---|---:|"
    found = []
    for one, own in zip(measured, weights, strict=True):
        rng = generator(1337, "halves", one.name)
        for size in SIZES:
            for _ in range(SETS):
                rows = np.sort(rng.choice(len(one.systems), size, replace=False))
                order = rng.permutation(len(one.truth))
                half = len(order) // 2
                known, other = (
                    one.truth[part][:, rows].mean(axis=0) for part in (order[:half], order[half:])
                )
                picks = (known.argmax(), form_belief(own, one.evidence(rows)).pick, one.naive[rows].argmax())
                found.append([other.max() - other[pick] for pick in picks])
    for title, value in zip(
        ("half of the judged questions", "choose", "naive"), np.mean(found, axis=0), strict=True
    ):
        yield f"| {title} | {value:.4f} |"


def _calibration(
    raw: Sequence[Outcome], outcomes: Sequence[Outcome], factors: Sequence[float]
) -> Iterator[str]:
    """What the factor of the error's scale does."""
    yield "\n## The size of errors\n"
    low, high = min(factors), max(factors)
    tried = ", ".join(map("{:g}".format, FACTORS))
    if low == high == 1:
        yield (
            f"The scale of errors is as fitted: of its multiples by {tried} the first was for every collection the one "
            "under which the best of the others' sets were stated likeliest."
        )
        return
    yield (
        f"P(best) is of errors whose scale was multiplied by {low:g} to {high:g}: for each collection by the factor of "
        f"{tried} under which the best of the others' sets were stated likeliest. Without it, by the same weights:\n"
    )
    yield from list(_reliability(raw))[1:]
    own, before = (np.mean([made.regret for made in some]) for some in (outcomes, raw))
    yield f"\nMean regret {before:.4f} without, {own:.4f} with."


def _rules(measured: Sequence[Measured]) -> Iterator[str]:
    """Other ways to name one by the same signals, and the one that is best on the others."""
    yield "\n## Other ways to name one\n"
    yield (
        "The system with the highest score is named. Weights are fitted on the other collections; nothing else is "
        "fitted. The rule that is shipped was found by trying these, and about 80 more, on these collections, so its "
        "own figure is too good. What its choice is worth is the line *whichever is best on the others*.\n"
    )
    yield "| Rule | Mean regret | Median of collections | Against naive | 95% |"
    yield "|---|---:|---:|---:|---|"
    sets = [list(_sets(one)) for one in measured]
    given = list(zip(measured, sets, strict=True))
    found = {
        title: np.array([_regret_of(one, some, rule) for one, some in given]) for title, rule in FIXED.items()
    }
    training = [[(_each(one, rows), one.mean[rows]) for rows in _fitted_sets(one)] for one in measured]
    for ridge in RIDGES:
        own = [fit_weights(_without(training, k), ridge).weights for k in range(len(measured))]
        found[f"weights of five signals, ridge {ridge:g}"] = np.array(
            [_regret_of(one, some, _weighing(by)) for (one, some), by in zip(given, own, strict=True)]
        )
    every = np.array(list(found.values()))
    best = [int(np.delete(every, k, axis=1).mean(axis=1).argmin()) for k in range(len(measured))]
    found["whichever is best on the others"] = every[best, np.arange(len(measured))]
    naive = np.array([_regret_of(one, some, lambda one, rows: one.naive[rows]) for one, some in given])
    for title, values in found.items():
        low, high = _ratio(np.column_stack([values, naive]))
        yield (
            f"| {title} | {values.mean():.4f} | {np.median(values):.4f} | {values.mean() / naive.mean():.2f} | "
            f"{low:.2f} to {high:.2f} |"
        )
    yield f"| naive | {naive.mean():.4f} | {np.median(naive):.4f} | 1.00 | |"


Rule = Callable[[Measured, NDArray[np.int64]], Values]
"""From a collection and some of its systems to a score of each."""


def _each(one: Measured, rows: NDArray[np.int64]) -> Evidence:
    """All five signals, each a score of its own."""
    found = one.evidence(rows, range(len(TRIED)))
    return replace(found, scores=found.values)


def _in_spreads(*which: int, chance: float = CHANCE) -> Rule:
    """The shipped score, of these of the tried families, and agreement."""
    return lambda one, rows: one.evidence(rows, which, chance).scores[:, 0]


def _in_ranks(*columns: int) -> Rule:
    """The mean rank in the set."""
    return lambda one, rows: rankdata(_each(one, rows).values[:, list(columns)].round(9), axis=0).mean(axis=1)


def _weighing(weights: Values) -> Rule:
    return lambda one, rows: _each(one, rows).values @ weights


FIXED: dict[str, Rule] = {
    "as shipped": _in_spreads(0, 1),
    "chance 0": _in_spreads(0, 1, chance=0.0),
    "chance 1": _in_spreads(0, 1, chance=1.0),
    "chance 4": _in_spreads(0, 1, chance=4.0),
    "with *apart* and *reworded*": _in_spreads(0, 1, 2, 3),
    "with *reworded*": _in_spreads(0, 1, 3),
    "without *half*": _in_spreads(0),
    "without *sentence*": _in_spreads(1),
    "mean of ranks in the set": _in_ranks(0, 1, 4),
    "mean of ranks in the set, of five signals": _in_ranks(0, 1, 2, 3, 4),
    "*sentence* alone": _in_ranks(0),
    "*half* alone": _in_ranks(1),
}
"""Ways to name one that nothing is fitted for; signals are those of TRIED and agreement, by number."""


def _regret_of(one: Measured, sets: Sequence[NDArray[np.int64]], rule: Rule) -> float:
    """The mean regret of the systems with the highest scores."""
    return float(np.mean([one.mean[rows].max() - one.mean[rows[rule(one, rows).argmax()]] for rows in sets]))


def _taus(measured: Sequence[Measured]) -> Iterator[str]:
    """How far each signal alone has the order of all systems."""
    yield "\n## Kendall's tau of each signal alone with the truth, all systems\n"
    yield f"| Collection | {' | '.join(TRIED)} | agreement | naive | keywords |"
    yield f"|---|{'---:|' * (len(TRIED) + 3)}"
    table = []
    for one in measured:
        seen = _each(one, np.arange(len(one.systems))).values
        keywords = one.keywords.mean(axis=0) if len(one.keywords) else np.full(len(one.systems), np.nan)
        columns = [*seen.T, one.naive, keywords]
        table.append([float(kendall_tau(column, one.mean)) for column in columns])
        yield f"| {one.name} | {' | '.join(f'{value:.2f}' for value in table[-1])} |"
    means = np.nanmean(np.array(table), axis=0)
    yield f"| mean | {' | '.join(f'{value:.2f}' for value in means)} |"


HEAD = """# Choosing without labels, against truth

Made by `benchmarks/choose_collections.py` and `benchmarks/choose_fit.py`: {systems} systems on {collections} labelled
collections, and {sets:,} choices among sets of three to eight of them. Each collection is judged by weights that were
fitted on the others. Truth is nDCG@10 of the collection's own questions; *naive* picks the system with the best nDCG@10
of sentences looked for in the passages that they were taken out of; *by lot* is the mean over the systems of a set. It
"cannot say" where the expected regret of its pick is above {tolerance}, or no system finds the passages by their own
sentences. Sets of one collection are not independent.

Collections are cut to 1,000 passages and 200 questions, long ones to 350 and 150, all relevant passages among them as
far as these go. SciFact, Cranfield and MED are retrieval as it is; WikiQA is retrieval over all its sentences; mrpc,
stsb, sick, sts12, sts13 and stsb_es look for paraphrases (some pairs of sts12 are in stsb too, and stsb_es is a
translation of it); banking77 and biotitles for texts of one label; squality, qags, summeval, cnn, sumpubmed and
billsum for the document that a question or a sentence of a summary is about."""


if __name__ == "__main__":
    main()
