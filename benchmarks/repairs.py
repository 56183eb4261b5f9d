"""Does cleaning the texts, or an ensemble, repair what SAGE finds weak? Real data, paired intervals:

    python benchmarks/repairs.py DATA [--limit 150] [--out runs/repairs] > benchmarks/results/repairs.md

DATA holds what benchmarks/datasets describe: news for robustness, abstracts for sensitivity, SciFact for retrieval. A
repaired system is compared with the same system as it is, or with the better member of an ensemble, on the same items.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator
from pathlib import Path

import embassay as eb
from embassay.protocols.kernel.comparisons import SystemHeadlineValue, compare_headlines_of_all_systems, read_standings
from embassay.protocols.kernel.outcome import Run
from embassay.protocols.sage.options import SageOptions
from embassay.stats.tests import holm

HERE = Path(__file__).parent
CLEAN = ("whitespace,unicode", "whitespace,unicode,case", "whitespace,unicode,case,spelling")
PLAIN = ("bm25", "jaccard", "wordllama")
ENSEMBLES = ("wordllama+bm25", "wordllama+jaccard")
DATASETS = {"robustness": "cnn_dailymail", "sensitivity": "sumpubmed_abstracts", "retrieval": "scifact"}
EDITS = "capitalize,delete10,numerize,negate"


def main() -> None:
    """Run, and print the page."""
    asked = _arguments()
    os.environ.setdefault("EMBASSAY_DATA", str(asked.data))
    whole = [*PLAIN, *(f"{one}?clean={steps}" for one in PLAIN for steps in CLEAN)]
    whole += [f"ensemble:{one}" for one in ENSEMBLES] + [f"ensemble:{one}?of=ranks" for one in ENSEMBLES]
    whole += [f"ensemble:wordllama%3Fclean={CLEAN[-1]}+jaccard%3Fclean={CLEAN[-1]}"]
    runs = {}
    for task, name in DATASETS.items():
        options = SageOptions(resamples=2000, retrieval_edits=EDITS)
        runs[task] = eb.sage.run(
            whole, datasets=[str(HERE / "datasets" / f"{name}.yaml")], tasks=[task], limit=asked.limit,
            tokenizer="words", options=options, out=asked.out / task,
        )  # fmt: skip
    print("\n".join(page(runs, asked.limit)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--limit", type=int, default=150)
    parser.add_argument("--out", type=Path, default=Path("runs/repairs"))
    return parser.parse_args()


def page(runs: dict[str, Run], limit: int) -> Iterator[str]:
    """The page of results."""
    yield "# Does cleaning or an ensemble repair?"
    yield ""
    yield f"SAGE's headline of each task on real data, at most {limit} items, and the change by the repair with its 95%"
    yield "interval (paired bootstrap over the same items; p is corrected (Holm) within a table). Written by"
    yield f"`python benchmarks/repairs.py DATA --limit {limit}`."
    for task, run in runs.items():
        known = {
            one.system: one.headline
            for one in read_standings(run.path)
            if one.task == task and not one.dataset and one.headline.value is not None
        }
        yield from ("", f"## {task.capitalize()} ({DATASETS[task]})", "")
        yield from _table(known)


def _table(known: dict[str, SystemHeadlineValue]) -> Iterator[str]:
    """A row for every system but the references."""
    found = {one: _change(known[one], known[beside]) for one in known if (beside := _beside(one, known))}
    adjusted = dict(zip(found, holm([change[3] for change in found.values()]), strict=True))
    yield "| System | Score | Compared with | Change | 95% CI | p |"
    yield "|---|---:|---|---:|---:|---:|"
    for system, own in known.items():
        if system in ("constant", "random"):
            continue
        cells = ["", "", "", ""]
        if system in found:
            change, low, high, _ = found[system]
            cells = [
                f"`{_beside(system, known)}`", f"{change:+.3f}", f"{low:+.3f} to {high:+.3f}",
                f"{adjusted[system]:.3f}",
            ]  # fmt: skip
        yield "| " + " | ".join([f"`{system}`", f"{own.value:.3f}", *cells]) + " |"


def _change(own: SystemHeadlineValue, beside: SystemHeadlineValue) -> tuple[float, float, float, float]:
    """First minus second, its interval, and p."""
    pair = compare_headlines_of_all_systems([own, beside])["pairs"][0]
    sign = 1 if pair["a"] == own.system else -1
    ends = sorted((sign * pair["ci_low"], sign * pair["ci_high"]))
    return sign * pair["difference"], ends[0], ends[1], pair["p"]


def _beside(system: str, known: dict[str, SystemHeadlineValue]) -> str:
    """What a repaired system is compared with: itself as it is, or the better member."""
    if system.startswith("ensemble:"):
        members = [one for one in PLAIN if one in system]
        return max(members, key=lambda one: known[one].value or 0.0)
    return system.partition("?")[0] if "?" in system else ""


if __name__ == "__main__":
    main()
