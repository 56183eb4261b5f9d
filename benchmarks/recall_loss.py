"""Does the name probe, five invented passages at a time, forecast the recall that damaged names cost on real data?

    python benchmarks/recall_loss.py DATA [--work runs/recall_loss] [--limit 100] > benchmarks/results/recall_loss.md

DATA holds what benchmarks/datasets describe. Every collection is signed and damaged as `embassay rag probe names -d`
does it; the forecast is the change of the name margin in percent on the bundled texts, which no collection is seen for.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from choose_collections import COLLECTIONS, Collection, Files
from numpy.typing import NDArray

import embassay as eb
from embassay.measures import pearson, spearman
from embassay.protocols.kernel import tables as numbers
from embassay.protocols.rag.probes.names import PERCENT
from embassay.protocols.rag.probes.resampling import RECALL
from embassay.protocols.rag.probes.signatures import TASK
from embassay.randomness import make_seeded_generator
from embassay.records import ResultRow
from embassay.runs.folder import RunFolder
from embassay.stats import bootstrap_ci
from embassay.stats.resampling import iterate_resample_row_blocks

CORPORA = ("wikiqa", "cosqa", "scifact", "cranfield", "med", "newsgroups")
SYSTEMS = ("minilm", "wordllama", "bm25")
MASK, NEAR_MISS = "hard_name_mask", "edit_distance_near_miss"
PASSAGES, WORDS = 300, 60
"""Passages of a collection, about, and words of each: a small model on two cores has to read all of them ten times."""
DRAWS, SEED = 10_000, 1337
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Loss:
    """What an ablation did: to the margin of the probe, in percent (`forecast`), and to the recall of a corpus."""

    corpus: str
    system: str
    condition: str
    forecast: float
    lost: float


def main() -> None:
    """Measure, and print the page."""
    asked = _arguments()
    files = Files(asked.data)
    folders = [
        lay_out(COLLECTIONS[name](files, name), asked.work / name, questions=asked.limit, words=WORDS)
        for name in CORPORA
    ]
    run = eb.rag.probe_names(
        list(SYSTEMS), datasets=folders, langs=["en"], tokenizer="words", resamples=2000, out=asked.work / "run"
    )
    rows = RunFolder(Path(run.path)).read_results()
    print("\n".join(page(list(rows), asked.limit)))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--work", type=Path, default=Path("runs/recall_loss"))
    parser.add_argument("--limit", type=int, default=100)
    return parser.parse_args()


def lay_out(collection: Collection, folder: Path, *, questions: int, words: int | None = None) -> str:
    """The collection as a BEIR folder: so many of its questions, what is relevant to them, and others up to
    `PASSAGES`, each cut to so many words."""
    judged = [query for query in collection.queries if _relevant(collection, query)]
    queries = _draw(judged, questions, collection.name, "questions")
    relevant = {doc for query in queries for doc in _relevant(collection, query)}
    others = [doc for doc in collection.texts if doc not in relevant]
    others = _draw(others, max(PASSAGES - len(relevant), 0), collection.name, "passages")
    kept = {*relevant, *others}
    passages = {doc: " ".join(text.split()[:words]) for doc, text in collection.texts.items() if doc in kept}
    (folder / "qrels").mkdir(parents=True, exist_ok=True)
    _write_lines(folder / "corpus.jsonl", passages)
    _write_lines(folder / "queries.jsonl", {query: collection.queries[query] for query in queries})
    lines = ["query-id\tcorpus-id\tscore"]
    for query in queries:
        lines += [f"{query}\t{doc}\t{gain:g}" for doc, gain in _relevant(collection, query).items()]
    (folder / "qrels" / "test.tsv").write_text("\n".join(lines) + "\n", "utf-8")
    return str(folder)


def _relevant(collection: Collection, query: str) -> Mapping[str, float]:
    grades = collection.qrels.get(query, {})
    return {doc: gain for doc, gain in grades.items() if gain > 0 and doc in collection.texts}


def _draw(names: Sequence[str], most: int, *stream: str) -> list[str]:
    order = make_seeded_generator(SEED, *stream).permutation(len(names)).tolist()
    return [names[place] for place in sorted(order[:most])]


def _write_lines(path: Path, texts: Mapping[str, str]) -> None:
    lines = (json.dumps({"_id": key, "text": text}, ensure_ascii=False) for key, text in texts.items())
    path.write_text("\n".join(lines) + "\n", "utf-8")


def losses_of(rows: Sequence[ResultRow]) -> list[Loss]:
    """Every ablation that changed a corpus, for every system."""
    forecasts = {
        (row.system, row.variant): row.value for row in rows if row.measure == PERCENT and row.value is not None
    }
    return [
        Loss(row.dataset, row.system, row.variant, forecasts[row.system, row.variant], row.value)
        for row in rows
        if row.task == TASK and row.measure == f"{RECALL} change" and row.value is not None
    ]


@dataclass(frozen=True)
class Link:
    """A correlation with its interval: that of resampled corpora."""

    value: float
    low: float
    high: float
    n: int

    def __str__(self) -> str:
        ends = numbers.format_interval(self.low, self.high, 2)
        return f"{numbers.format_change(self.value, 2)} ({ends})"


def link_of(losses: Sequence[Loss], correlation: Callable[[Floats, Floats], float], key: str = "corpus") -> Link:
    """The correlation of forecast and loss over all of these, with the 95% percentile interval where whole corpora (or
    what else `key` names) are resampled."""
    groups = [np.array([(one.forecast, one.lost) for one in losses if getattr(one, key) == name])
              for name in dict.fromkeys(getattr(one, key) for one in losses)]  # fmt: skip
    whole = np.concatenate(groups)
    drawn = []
    for block in iterate_resample_row_blocks(len(groups), DRAWS, make_seeded_generator(SEED, "corpora"), most=DRAWS):
        for places in block:
            points = np.concatenate([groups[place] for place in places])
            drawn.append(float(correlation(points[:, 0], points[:, 1])))
    low, high = np.nanquantile(drawn, (0.025, 0.975))
    return Link(float(correlation(whole[:, 0], whole[:, 1])), float(low), float(high), len(whole))


def forecast_errors(losses: Sequence[Loss], corpus: str) -> Mapping[str, float]:
    """The mean absolute error on a corpus of three forecasts made from the others: the mean loss, the mean loss under
    the same ablation, and a line over the probe's change for each system."""
    others = [one for one in losses if one.corpus != corpus]
    mean = float(np.mean([one.lost for one in others]))
    errors: dict[str, list[float]] = {"mean": [], "ablation": [], "probe": []}
    for one in losses:
        if one.corpus != corpus:
            continue
        alike = [other.lost for other in others if other.condition == one.condition]
        of_system = [other for other in others if other.system == one.system]
        line = np.polyfit([other.forecast for other in of_system], [other.lost for other in of_system], 1)
        guesses = {"mean": mean, "ablation": float(np.mean(alike)), "probe": float(np.polyval(line, one.forecast))}
        for name, guess in guesses.items():
            errors[name].append(abs(guess - one.lost))
    return {name: float(np.mean(of_name)) for name, of_name in errors.items()}


def page(rows: Sequence[ResultRow], limit: int) -> Iterator[str]:
    """The page of results."""
    losses = losses_of(rows)
    corpora = list(dict.fromkeys(one.corpus for one in losses))
    yield "# Does the name probe forecast the recall that damaged names cost?"
    yield ""
    yield f"{len(corpora)} real collections (at most {limit} questions, about {PASSAGES} passages, the first {WORDS}"
    yield "words of each), whose passages are signed by invented authors and whose questions ask for one"
    yield "(`embassay rag probe names -d`). Forecast: the change of the name margin in percent on the bundled texts."
    yield f"Loss: the change of {RECALL}. A point is an ablation, a system and a collection. Intervals: 95%,"
    yield f"{DRAWS:,} draws of whole collections, seed {SEED}. Written by `benchmarks/recall_loss.py`."
    yield ""
    yield from _links(losses)
    yield from _errors(losses, corpora)
    yield from _losses(rows, corpora)


def _links(losses: Sequence[Loss]) -> Iterator[str]:
    yield "## Correlation of forecast and loss"
    yield ""
    yield "| Points | n | Spearman | Pearson |"
    yield "|---|---:|---:|---:|"
    parts: dict[str, list[Loss]] = {"all": list(losses)}
    parts["without the mask, which leaves no margin by definition"] = [one for one in losses if one.condition != MASK]
    parts["without near misses, which recall does not see"] = [one for one in losses if one.condition != NEAR_MISS]
    for system in SYSTEMS:
        parts[system] = [one for one in losses if one.system == system]
        parts[f"{system}, without the mask"] = [one for one in parts[system] if one.condition != MASK]
    for name, some in parts.items():
        yield f"| {name} | {len(some)} | {link_of(some, spearman)} | {link_of(some, pearson)} |"
    yield ""
    few = link_of(losses, spearman, "system")
    yield f"Whole systems resampled instead (three, so hardly an interval): Spearman {few}."
    yield ""


def _errors(losses: Sequence[Loss], corpora: Sequence[str]) -> Iterator[str]:
    yield "## As a forecast: mean absolute error on a collection, from the others"
    yield ""
    yield "| Collection | Mean loss of the others | Their mean loss under the ablation | A line over the probe |"
    yield "|---|---:|---:|---:|"
    table = {corpus: forecast_errors(losses, corpus) for corpus in corpora}
    for corpus, errors in table.items():
        yield f"| {corpus} | {' | '.join(f'{error:.3f}' for error in errors.values())} |"
    means = np.mean([list(errors.values()) for errors in table.values()], axis=0)
    yield f"| *mean* | {' | '.join(f'{error:.3f}' for error in means)} |"
    yield ""
    for name, words in (("mean", "the mean loss"), ("ablation", "the mean loss under the ablation")):
        gains = np.array([errors[name] - errors["probe"] for errors in table.values()])
        gain = bootstrap_ci(gains, np.mean, seed=SEED)
        ends = numbers.format_interval(gain.low, gain.high, 3)
        yield f"- Error of {words} minus that of the line: {numbers.format_change(gain.value, 3)} ({ends})."
    yield ""
    yield "So the probe tells much more than nothing, and less than the loss under the same ablation elsewhere does:"
    yield "what an ablation does is much the same in every collection. It forecasts best where names are destroyed,"
    yield "and worst for near misses: impostors come nearer, but the right passage stays among the first ten."
    yield ""


def _losses(rows: Sequence[ResultRow], corpora: Sequence[str]) -> Iterator[str]:
    yield "## Every loss"
    yield ""
    by_key = {(row.dataset, row.system, row.variant, row.measure): row for row in rows}
    forecasts = {(row.system, row.variant): row for row in rows if row.measure == PERCENT}
    for system in SYSTEMS:
        conditions = [name for of_system, name in forecasts if of_system == system]
        yield f"### {system}"
        yield ""
        yield f"| Ablation | Margin, percent | {' | '.join(corpora)} |"
        yield f"|---|---:|{'---:|' * len(corpora)}"
        base = [by_key[corpus, system, "", RECALL].value or 0.0 for corpus in corpora]
        yield f"| *{RECALL}, base* | | {' | '.join(f'{value:.3f}' for value in base)} |"
        for name in conditions:
            lost = [by_key.get((corpus, system, name, f"{RECALL} change")) for corpus in corpora]
            if any(row is not None for row in lost):
                percent = numbers.format_change(forecasts[system, name].value or 0.0, 0)
                yield f"| {name} | {percent} | {' | '.join(map(_said, lost))} |"
        yield ""


def _said(row: ResultRow | None) -> str:
    if row is None or row.value is None:
        return "–"
    ends = "" if row.ci_low is None else f" ({numbers.format_interval(row.ci_low, row.ci_high or 0.0, 2)})"
    return f"{numbers.format_change(row.value, 3)}{ends}"


if __name__ == "__main__":
    main()
