"""The papers' printed tables as the package carries them, one figure a line, from the transcribed tables:

    python benchmarks/reproducing/printed.py REFERENCE [--write]

REFERENCE has a folder for each paper (hteb, hume, pteb, rag, sage) with a CSV file per table. Nothing is corrected: a
figure is what the paper prints; those of HTEB are shares of the counts in its published files. With --write
src/embassay/interchange/published is renewed.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from embassay.interchange import reproduction
from embassay.interchange.reproduction import HEAD, PrintedPaperFigure

OUT = Path(reproduction.__file__).parent / "published"
Row = Mapping[str, str]
Where = Callable[[Row], str]


def main() -> None:
    """Write the five files, or say how many figures there are."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("reference", type=Path)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    for paper, found in every(asked.reference).items():
        print(f"{paper}: {len(found)} figures")
        if asked.write:
            with (OUT / f"{paper.lower()}.csv").open("w", encoding="utf-8", newline="") as stream:
                writer = csv.writer(stream, lineterminator="\n")
                writer.writerow(HEAD)
                writer.writerows((one.table, one.row, one.column, one.published) for one in found)


def every(reference: Path) -> dict[str, list[PrintedPaperFigure]]:
    """Paper -> its figures in the order of its tables."""
    made = {"SAGE": sage, "PTEB": pteb, "HTEB": hteb, "RAG": rag, "HUME": hume}
    return {paper: list(of(reference / paper.lower())) for paper, of in made.items()}


def sage(folder: Path) -> Iterator[PrintedPaperFigure]:
    """Tables 1 to 6."""
    for number in range(1, 7):
        yield from _table(folder / f"table{number}.csv", f"table {number}", _of("model"), leave=("model", "kind"))


def pteb(folder: Path) -> Iterator[PrintedPaperFigure]:
    """Tables 1 to 12 and 14."""
    yield from _table(folder / "table1.csv", "table 1", _of("dataset"))
    yield from _table(folder / "table2.csv", "table 2", _of("dataset"))
    yield from _table(folder / "table3.csv", "table 3", _of("judge_model_size"))
    yield from _table(folder / "table4.csv", "table 4", _of("paraphrase_model"))
    yield from _table(folder / "table5.csv", "table 5", _of("llm_judge"))
    for number in (6, 9, 10):
        leave = ("task", "dataset", "model")
        yield from _table(folder / f"table{number}.csv", f"table {number}", _of("dataset", "model"), leave=leave)
    for number in (7, 14):
        yield from _table(folder / f"table{number}.csv", f"table {number}", _of("model"), leave=("baseline", "model"))
    yield from _table(folder / "table8.csv", "table 8", _of("model_size"))
    yield from _table(folder / "table11.csv", "table 11", _of("language"), leave=("language", "iso"))
    yield from _table(folder / "table12.csv", "table 12", _of("prompt"))


STACK = ("model", "dim", "reranker", "candidate_k")


def rag(folder: Path) -> Iterator[PrintedPaperFigure]:
    """Stacks of sections 5.1 to 5.5 and A, and both probes."""
    dense = ("model", "dim")
    yield from _table(folder / "clq_dense_only.csv", "5.1 dense", _of(*dense), leave=dense)
    yield from _table(folder / "clq_stack_comparison.csv", "5.1 stacks", _of("method"))
    for row in rows(folder / "hybrid_ceiling_proc.csv"):
        for cut, value in list(row.items())[1:]:
            measure = {"N-Recall4+": "n_recall4plus", "N-Recall5": "n_recall5", "RA-nWG": "ra_nwg"}[row["metric"]]
            yield PrintedPaperFigure("5.1 hybrid ceiling", "Hybrid (RRF)", f"{measure}{cut}", value)
    measure_at = lambda row: f"{row['metric']}@{row['k']}"  # noqa: E731
    yield from _table(folder / "hybrid_rerank_reference.csv", "5.2 %PROC", measure_at, leave=("metric", "k"))
    leave = ("cutoff", "rank", *STACK)
    for cutoff in ("10", "30"):
        name = f"5.2 leaderboard, @{cutoff}"
        yield from _table(folder / "leaderboard_dense_reranked.csv", name, _stack, leave=leave,
                          only=lambda row, cutoff=cutoff: row["cutoff"] == cutoff)  # fmt: skip
    yield from _table(folder / "quantization_ann.csv", "5.3 indexes", _of("setup"))
    yield from _table(folder / "scenario_matrix.csv", "5.5 scenarios", _stack, leave=("scenario", *STACK))
    yield from _table(folder / "efficiency_leaderboard.csv", "A.1 efficiency", _stack, leave=("rank", *STACK))
    yield from _table(folder / "base_margins.csv", "A.2 margins", _of("lang", "model"), leave=("lang", "model"))
    yield from _table(folder / "name_topic_ratio.csv", "A.3 name over topic", _of("lang", "model"),
                      leave=("lang", "model"))  # fmt: skip
    keys = ("lang", "condition", "model")
    for lang, name in (("EN", "4.1 names, EN"), ("FR", "4.2 names, FR")):
        yield from _table(folder / "name_margin_ablations.csv", name, _of(*keys), leave=keys,
                          only=lambda row, lang=lang: row["lang"] == lang)  # fmt: skip
    for row in rows(folder / "noise_cosine.csv"):
        yield PrintedPaperFigure(
            "4.4 similarity", f"{row['lang']}, {row['model_size']}", f"level {row['noise_level']}", row["cosine"]
        )
    keys = ("lang", "model_size")
    yield from _table(folder / "noise_drop_percent.csv", "4.4 noise", _of(*keys), leave=keys)
    keys = ("reranker", "k")
    yield from _table(folder / "tokens_per_candidate.csv", "A.5 tokens", lambda row: f"{row['reranker']}, K={row['k']}",
                      leave=(*keys, "n_configs"))  # fmt: skip
    yield from _table(folder / "reranker_latency.csv", "A.6 reranking time", _stack,
                      leave=(*STACK, "flagged_discontinuity"))  # fmt: skip
    lite = lambda row: _stack({**row, "reranker": "rerank-2.5-lite"})  # noqa: E731
    yield from _table(folder / "rerank_lite_by_k.csv", "A.8 rerank-2.5-lite", lite, leave=STACK)
    pool = lambda row: f"{row['model']}, {row['dim']}, K={row['candidate_k']}"  # noqa: E731
    yield from _table(folder / "dense_ceilings_proc.csv", "A.9 ceilings", pool, leave=STACK)


SHARES = {
    "unchanged_outputs": "unchanged %", "text_fields_with_fallback": "failed %", "retried_text_fields": "retried %"
}  # fmt: skip


def hteb(folder: Path) -> Iterator[PrintedPaperFigure]:
    """Texts of every file of Banking77, and the shares of them that the authors counted."""
    counts: dict[str, dict[str, int]] = {}
    for row in rows(folder / "published.csv"):
        if row["table"].startswith("banking77") and row["value"].isdigit():
            counts.setdefault(row["row"].replace(" seed ", ", seed "), {})[row["column"]] = int(row["value"])
    for name, of in counts.items():
        texts = of["text_fields_total"]
        yield PrintedPaperFigure("files of Banking77", name, "texts", str(texts))
        for count, share in SHARES.items():
            yield PrintedPaperFigure("files of Banking77", name, share, f"{100 * of[count] / texts:.4f}")


def hume(folder: Path) -> Iterator[PrintedPaperFigure]:
    """Tables 1, 2, and 4 to 13."""
    yield from _table(folder / "table1.csv", "table 1", _of("model"))
    yield from _table(folder / "table2.csv", "table 2", _of("category"))
    for number in range(4, 8):
        yield from _table(folder / f"table{number}.csv", f"table {number}", _of("model"))
    leave = ("category", "task", "lang", "iaa_metric")
    yield from _table(folder / "table8.csv", "table 8", lambda row: f"{row['task']} ({row['lang']})", leave=leave)
    yield from _table(folder / "table9.csv", "table 9", _of("model"))
    for number in (10, 11, 12):
        place = lambda row: f"{row['dataset']} ({row['lang']})" if row["lang"] else row["dataset"]  # noqa: E731
        yield from _table(folder / f"table{number}.csv", f"table {number}", place, leave=("dataset", "lang"))
    yield from _table(folder / "table13.csv", "table 13", _of("llm"))


def _table(
    path: Path, table: str, where: Where, *, leave: tuple[str, ...] = (), only: Callable[[Row], bool] = lambda _: True
) -> Iterator[PrintedPaperFigure]:
    """Every figure of a file: all columns but the first, or but those that are left out."""
    for row in rows(path):
        if not only(row):
            continue
        for column, value in row.items():
            if value and column not in (leave or (next(iter(row)),)) and _is_number(value):
                yield PrintedPaperFigure(table, where(row), column, value)


def rows(path: Path) -> Iterator[dict[str, str]]:
    """The rows of a file of published figures, as printed."""
    with path.open(encoding="utf-8", newline="") as stream:
        yield from csv.DictReader(stream)


def _of(*names: str) -> Where:
    return lambda row: ", ".join(row[name] for name in names)


def _stack(row: Row) -> str:
    """As a sweep's stack is named here: encoder, dimensions, reranker and depth."""
    return f"{row['model']}, {row['dim']}, {row['reranker']}, K={row['candidate_k']}"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


if __name__ == "__main__":
    main()
