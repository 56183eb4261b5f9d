"""How often the intervals of `embassay.protocols.hume.ceiling` hold, and how often a planted difference is found.

    python benchmarks/hume_beyond.py agreement|paired|ceiling|clustering|power [--studies 400] [--resamples 1000]

Worlds draw gold, and people and a system who see it through noise; the truth is the value in a very large study of the
same world. Every table is printed as Markdown; docs/hume_beyond.md has those of 400 studies.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from embassay.measures import v_measure
from embassay.protocols.hume.ceiling import (
    annotators_needed_by_variance,
    annotators_needed_for_sts,
    compare_with_people,
    compute_test_and_power_quantiles,
    correlate_people_and_system,
    estimate_variance_components,
    items_needed,
    leave_one_out_human_ceiling,
)
from embassay.protocols.hume.resampling import (
    BootstrapEstimateWithTest,
    PeopleAnswers,
    ResamplingSettings,
    agreement_intervals,
    arrange_people_rows,
    replace_none_by_nan,
    resample_statistics,
    resampled_v_measure,
    value_indicators,
)
from embassay.protocols.hume.scoring import Aggregation, average_precision_of_marks
from embassay.protocols.hume.study import Family, TaskSpec
from embassay.randomness import make_seeded_generator

Rng = np.random.Generator
ONCE = ResamplingSettings(1, kind="percentile")
KINDS = ("percentile", "expanded", "bca")


@dataclass(frozen=True)
class World:
    """`noise` has one number per annotator, and one more for the system where there is one: how often a label is
    right (of `labels` equally likely ones) or a relevant document marked, or the deviation of a rating."""

    name: str
    family: Family
    noise: tuple[float, ...]
    labels: int = 3
    aggregation: Aggregation = "paper"


AGREEMENT = (
    World("2 labels, kappa .5", "classification", (0.7, 0.7), 2),
    World("6 labels, kappa .37", "classification", (0.6, 0.6), 6),
    World("3 labels, kappa .90", "classification", (0.95, 0.95), 3),
    World("3 annotators, 4 labels", "classification", (0.8, 0.7, 0.6), 4),
    World("6 groups, ARI .4", "clustering", (0.8, 0.8), 6),
    World("6 groups, ARI .03", "clustering", (0.4, 0.4), 6),
    World("ratings, rho .7", "sts", (1.0, 1.0)),
    World("marks, rho .6", "reranking", (0.85, 0.85)),
)
PAIRED = (
    World("classification, alike", "classification", (0.8, 0.8), aggregation="first"),
    World("classification, vote of 2", "classification", (0.75, 0.7, 0.85)),
    World("classification, mean of 2", "classification", (0.75, 0.75, 0.9), aggregation="mean"),
    World("reranking, alike", "reranking", (0.85, 0.85), aggregation="first"),
    World("reranking, mean of 2", "reranking", (0.85, 0.8, 0.97)),
    World("STS, alike", "sts", (1.0, 1.0), aggregation="first"),
    World("STS, mean of 2", "sts", (1.0, 1.0, 2.0)),
)


def drawn(world: World, n: int, rng: Rng) -> tuple[PeopleAnswers, dict[str, Any]]:
    """A study of n items: people, and a system's values (of the last noise)."""
    gold, given = _answers(world, n, rng)
    ids = [f"{i:07}" for i in range(n)]
    answers = {f"ann {k}": dict(zip(ids, one, strict=True)) for k, one in enumerate(given)}
    system = answers.pop(f"ann {len(given) - 1}") if world in PAIRED else {}
    kept = dict(zip(ids, gold, strict=True))
    if world.family == "classification":
        system = {item: float(value == kept[item]) for item, value in system.items()}
    elif world.family == "reranking":
        system = {item: average_precision_of_marks(kept[item], value) for item, value in system.items()}
    task = TaskSpec(world.name, world.family, "eng")
    return PeopleAnswers(task, kept, answers, world.aggregation), system


def _answers(world: World, n: int, rng: Rng) -> tuple[list[Any], list[list[Any]]]:
    if world.family == "sts":
        gold, odd = rng.integers(0, 26, n) / 5, rng.normal(0, 0.6, n)
        seen = [np.clip(np.round(gold + odd + rng.normal(0, z, n)), 0, 5) for z in world.noise]
        return gold.tolist(), [one.tolist() for one in seen]
    if world.family == "reranking":
        relevant = np.arange(7) < 3
        seen = [rng.random((n, 7)) < np.where(relevant, z, 0.12) for z in world.noise]
        return [(1, 1, 1, 0, 0, 0, 0)] * n, [list(map(tuple, one.astype(int).tolist())) for one in seen]
    gold = rng.integers(0, world.labels, n)
    # Four items in ten are harder for everybody where a system takes part.
    hard = (rng.random(n) < 0.4) * 0.35 * (world in PAIRED)
    seen = [np.where(rng.random(n) < z - hard, gold, rng.integers(0, world.labels, n)) for z in world.noise]
    if world.family == "clustering":
        return list(map(str, gold.tolist())), [list(map(str, one.tolist())) for one in seen]
    return gold.tolist(), [one.tolist() for one in seen]


def coverage(
    of: Callable[[World, int, Rng, ResamplingSettings], dict[str, BootstrapEstimateWithTest]],
    worlds: Sequence[World],
    sizes: Sequence[int],
    kinds: Sequence[str],
    options: argparse.Namespace,
) -> Iterator[tuple[str, ...]]:
    """A row per world, value and size: how often each kind of interval holds the truth, of the studies with one."""
    for world in worlds:
        truth = of(world, options.truth, make_seeded_generator(1, "truth", world.name), ONCE)
        for n in sizes:
            found: dict[tuple[str, str], list[BootstrapEstimateWithTest]] = {}
            for study in range(options.studies):
                for kind in kinds:
                    draws = ResamplingSettings(options.resamples, 0.95, study, kind)  # type: ignore[arg-type]
                    for name, one in of(world, n, make_seeded_generator(study, world.name, str(n)), draws).items():
                        found.setdefault((name, kind), []).append(one)
            for name, true in truth.items():
                if (name, kinds[0]) in found:
                    value = 0.0 if world.name.endswith("alike") else true.value
                    cells = [_held(found[name, kind], value) for kind in kinds]
                    yield (world.name, name, f"{value:.2f}", str(n), *(x for cell in cells for x in cell))


def _held(found: Sequence[BootstrapEstimateWithTest], truth: float) -> tuple[str, str]:
    known = [one for one in found if one.low == one.low]
    if not known:
        return "–", "–"
    held = np.mean([one.contains(truth) for one in known])
    sure = np.mean([one.p < 0.05 for one in known])
    lacking = 1 - len(known) / len(found)
    return f"{100 * held:.1f}" + (f" ({100 * lacking:.0f}% none)" if lacking > 0.005 else ""), f"{100 * sure:.1f}"


def agreement(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    yield ("world", "coefficient", "true", "n", *KINDS)
    skipped = {"v_measure", "kendall"}

    def of(world: World, n: int, rng: Rng, draws: ResamplingSettings) -> dict[str, BootstrapEstimateWithTest]:
        people, _ = drawn(world, n, rng)
        found = agreement_intervals(world.family, people.answers, draws)
        return {name: one for name, one in found.items() if name not in skipped}

    for row in coverage(of, AGREEMENT, (20, 40, 100), KINDS, options):
        yield (*row[:4], *row[4::2])


def ceiling(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    yield ("world", "value", "true", "n", "bca")

    def of(world: World, n: int, rng: Rng, draws: ResamplingSettings) -> dict[str, BootstrapEstimateWithTest]:
        return {"ceiling": leave_one_out_human_ceiling(drawn(world, n, rng)[0], draws).value}

    worlds = [world for world in AGREEMENT if world.family != "clustering"]
    for row in coverage(of, worlds, (20, 40, 100), ("bca",), options):
        yield (*row[:4], row[4])


def paired(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    yield ("world", "true", "n", *(f"{kind}{what}" for kind in KINDS for what in ("", ", p < .05")))

    def of(world: World, n: int, rng: Rng, draws: ResamplingSettings) -> dict[str, BootstrapEstimateWithTest]:
        people, system = drawn(world, n, rng)
        return {"difference": compare_with_people(people, {"m": system}, draws)["m"].difference}

    for row in coverage(of, PAIRED, (20, 40, 100), KINDS, options):
        yield (row[0], *row[2:])


def clustering(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """V-measures with gold of k-means, made anew in every study, and what it is minus a person's."""
    yield ("n", "value", "percentile", "bca", "bootstrap's SD", "true SD")
    for n in (30, 60):
        two = np.array([_two_v(*_points(n, make_seeded_generator(s, "truth", str(n)))) for s in range(options.studies)])
        true = np.column_stack([two[:, 0], two[:, 0] - two[:, 1]])
        held, widths = np.zeros((2, 2)), np.zeros(2)
        for study in range(options.studies):
            gold, system, person = map(value_indicators, _points(n, make_seeded_generator(study, "study", str(n))))

            def values(counts: Any, g: Any = gold, s: Any = system, p: Any = person) -> Any:
                own = resampled_v_measure(counts, g, s)
                return np.stack([own, own - resampled_v_measure(counts, g, p)], axis=1)

            for place, kind in enumerate(("percentile", "bca")):
                found = resample_statistics(values, n, ResamplingSettings(options.resamples, 0.95, study, kind))  # type: ignore[arg-type]
                held[place] += [one.contains(mean) for one, mean in zip(found, true.mean(axis=0), strict=True)]
                widths += [one.width / 3.92 / 2 for one in found]
        held, widths = 100 * held / options.studies, widths / options.studies
        for place, name in enumerate(("V of k-means", "k-means minus a person")):
            rates = (f"{held[0, place]:.1f}", f"{held[1, place]:.1f}")
            yield (str(n), name, *rates, f"{widths[place]:.3f}", f"{true[:, place].std():.3f}")


def _points(n: int, rng: Rng) -> tuple[list[int], list[int], list[int]]:
    from sklearn.cluster import KMeans

    gold = np.repeat(np.arange(6), n // 6)
    points = make_seeded_generator(0, "centres").normal(size=(6, 4))[gold] + rng.normal(size=(n, 4)) * 0.6
    system = KMeans(6, n_init=1, max_iter=50, random_state=int(rng.integers(1 << 30))).fit_predict(points)
    person = np.where(rng.random(n) < 0.75, gold, rng.integers(0, 6, n))
    return gold.tolist(), system.tolist(), person.tolist()


def _two_v(gold: list[int], system: list[int], person: list[int]) -> tuple[float, float]:
    return v_measure(gold, system), v_measure(gold, person)


def power(options: argparse.Namespace) -> Iterator[tuple[str, ...]]:
    """A difference, known from a very large study; how often studies of the size promised to find it do so."""
    yield ("world", "promised", "found at p < .05")
    for world in PAIRED:
        if "alike" in world.name:
            continue
        items = items_needed(*drawn(world, options.truth, make_seeded_generator(1, "truth", world.name))).items
        if items:
            studies = (
                drawn(world, items, make_seeded_generator(s, "study", world.name)) for s in range(options.studies)
            )
            yield (world.name, f"{items} items", _found(studies, options))
    yield _annotators(60, options)
    yield _raters(50, options)


def _annotators(n: int, options: argparse.Namespace) -> tuple[str, ...]:
    """Annotators who differ in how often they are right, drawn anew in every study, against a system right at 90%."""

    def study(k: int, items: int, rng: Rng) -> tuple[PeopleAnswers, dict[str, Any]]:
        good = rng.uniform(0.65, 0.95, k)
        hard = (rng.random(items) < 0.4) * 0.3
        right = (rng.random((k, items)) < good[:, None] - hard).astype(int)
        ids = [f"{i:05}" for i in range(items)]
        answers = {f"ann {a:03}": dict(zip(ids, map(int, row), strict=True)) for a, row in enumerate(right)}
        system = dict(zip(ids, (rng.random(items) < 0.96 - hard).astype(float).tolist(), strict=True))
        return PeopleAnswers(TaskSpec("t", "classification", "eng"), dict.fromkeys(ids, 1), answers, "mean"), system

    people, system = study(400, 2000, make_seeded_generator(1, "annotators"))
    table = [[system[item] - value for item, value in own.items()] for own in people.answers.values()]
    parts = estimate_variance_components(np.array(table))
    k = annotators_needed_by_variance(parts, n, 1, compute_test_and_power_quantiles(0.8, 0.05)) if parts else None
    studies = (study(k or 1, n, make_seeded_generator(s, "more", str(n))) for s in range(options.studies))
    return f"classification, mean, {n} items", f"{k} annotators", _found(studies, options)


def _raters(n: int, options: argparse.Namespace) -> tuple[str, ...]:
    """Annotators who rate with noise, against a system that is as good as one of them; two are known."""

    def study(k: int, items: int, rng: Rng) -> tuple[PeopleAnswers, dict[str, Any]]:
        gold, ids = rng.normal(size=items), [f"{i:06}" for i in range(items)]
        odd = gold + rng.normal(0, 0.3, items)
        answers = {
            f"ann {a:03}": dict(zip(ids, (odd + rng.normal(0, 0.9, items)).tolist(), strict=True)) for a in range(k)
        }
        system = dict(zip(ids, (odd + rng.normal(0, 0.9, items)).tolist(), strict=True))
        return PeopleAnswers(TaskSpec("t", "sts", "eng"), dict(zip(ids, gold.tolist(), strict=True)), answers), system

    people, system = study(2, options.truth, make_seeded_generator(1, "raters"))
    known = correlate_people_and_system(
        people, arrange_people_rows(people, people.items), replace_none_by_nan([system[item] for item in people.items])
    )
    k = annotators_needed_for_sts(known, n, 2, compute_test_and_power_quantiles(0.8, 0.05)) if known else None
    studies = (study(k or 2, n, make_seeded_generator(s, "raters", str(n))) for s in range(options.studies))
    return f"STS, mean rating, {n} items", f"{k} annotators", _found(studies, options)


def _found(studies: Iterator[tuple[PeopleAnswers, dict[str, Any]]], options: argparse.Namespace) -> str:
    below = [
        compare_with_people(people, {"m": one}, ResamplingSettings(options.resamples, seed=seed))["m"].difference.p
        < 0.05
        for seed, (people, one) in enumerate(studies)
    ]
    return f"{100 * np.mean(below):.1f}%"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    tables = {"agreement": agreement, "ceiling": ceiling, "paired": paired, "clustering": clustering, "power": power}
    parser.add_argument("table", choices=tables)
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--truth", type=int, default=40_000, help="items of the study that tells the truth")
    options = parser.parse_args()
    for place, row in enumerate(tables[options.table](options)):
        print(f"| {' | '.join(row)} |", flush=True)
        if not place:
            print("|" + "---|" * len(row))


if __name__ == "__main__":
    main()
