"""RAG: the costs, ceilings and ratios that follow from other printed figures."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from embassay.interchange.reproduction import ReproducedTableValue, make_reproduced_figure
from embassay.measures import percent_proc
from embassay.protocols.rag.tradeoffs import (
    average_weighted_measures,
    compute_passage_reading_cost,
    compute_performance_per_second,
    compute_reranking_cost,
    compute_stored_vector_bytes,
)
from reproducing.printed import rows

GENERATORS = {"GPT-5": 1.25, "GPT-5 mini": 0.25, "GPT-5 nano": 0.05}
"""US dollars per million tokens, as the printed costs imply."""
TOKENS, MILLION, GIB = 500, 1_000_000, 2**30
MEMORY = {
    "vector_payload_f32_1024d": 4 * MILLION, "vector_payload_int8_1024d": MILLION,
}  # fmt: skip
CHANGES = (
    "n_recall4plus@10",
    "n_recall5@10",
    "ra_nwg@10",
    "n_recall4plus@20",
    "n_recall5@20",
    "ra_nwg@20",
    "median_latency_ms",
)


def figures(reference: Path) -> Iterator[ReproducedTableValue]:
    """From `reference`/rag."""
    folder = reference / "rag"
    yield from _costs(folder)
    yield from _memory(folder)
    yield from _ceilings(folder)
    yield from _efficiency(folder)
    yield from _probes(folder)
    yield from _indexes(folder)


def _costs(folder: Path) -> Iterator[ReproducedTableValue]:
    prices = {row["reranker"]: 1000 * float(row["usd_per_1k_tokens"]) for row in rows(folder / "rerank_prices.csv")}
    for row in rows(folder / "rerank_cost_per_1000_queries.csv"):
        ours = compute_reranking_cost(int(row["k"]), float(row["tokens_per_candidate"]), prices[row["reranker"]])
        yield make_reproduced_figure(
            "RAG", "3.2.1 reranking", f"{row['reranker']}, K={row['k']}", "USD", row["usd"], ours
        )
    for row in rows(folder / "generator_input_cost_per_1000_queries.csv"):
        ours = compute_passage_reading_cost(int(row["chunks_per_query"]), TOKENS, GENERATORS[row["model"]])
        where = f"{row['model']}, {row['chunks_per_query']} passages"
        yield make_reproduced_figure("RAG", "3.2.1 generation", where, "USD", row["usd"], ours)
    for row in rows(folder / "scenario_matrix.csv"):
        ours = compute_reranking_cost(int(row["candidate_k"]), TOKENS, prices[row["reranker"]])
        yield make_reproduced_figure(
            "RAG", "5.5 scenarios", row["scenario"], "USD", row["cost_usd_per_1000_queries"], ours
        )


def _memory(folder: Path) -> Iterator[ReproducedTableValue]:
    for row in rows(folder / "memory_estimates.csv"):
        if row["quantity"] in MEMORY:
            size = MEMORY[row["quantity"]] // MILLION
            ours = compute_stored_vector_bytes(MILLION, 1024, bytes_per_value=size) / GIB
            yield make_reproduced_figure("RAG", "5.3 memory", row["quantity"], "GiB per million", row["value"], ours)


def _ceilings(folder: Path) -> Iterator[ReproducedTableValue]:
    for row in rows(folder / "hybrid_rerank_reference.csv"):
        ours = 100 * percent_proc([float(row["actual"])], [float(row["proc"])]).share
        yield make_reproduced_figure(
            "RAG", "5.2 %PROC", f"{row['metric']}@{row['k']}", "%PROC", row["percent_proc"], ours
        )
    printed = {(row["model"], row["dim"], row["candidate_k"]): row for row in rows(folder / "dense_ceilings_proc.csv")}
    for row in rows(folder / "leaderboard_dense_reranked.csv"):
        where = (row["model"], row["dim"], row["candidate_k"])
        ours = printed[where][f"ra_nwg@{row['cutoff']}"]
        yield make_reproduced_figure(
            "RAG", "5.2 ceilings", f"{', '.join(where)}, @{row['cutoff']}", "PROC", row["ceiling_proc"], ours
        )


def _efficiency(folder: Path) -> Iterator[ReproducedTableValue]:
    for row in rows(folder / "efficiency_leaderboard.csv"):
        ours = compute_performance_per_second(float(row["avg_performance"]), float(row["latency_ms"]))
        where = f"{row['rank']}: {row['model']}, {row['dim']}, {row['reranker']}"
        yield make_reproduced_figure("RAG", "A.1 efficiency", where, "per second", row["efficiency"], ours)
    for scenario in rows(folder / "scenario_matrix.csv"):
        if scenario["scenario"] == "Baseline":
            # The stack comparison has its N-Recall4+@30, which the scenarios leave out.
            stack = next(one for one in rows(folder / "clq_stack_comparison.csv") if one["method"] == "Rerank-2.5")
            quality = {
                "N-Recall4+@10": float(stack["n_recall4plus@10"]), "RA-nWG@10": float(stack["ra_nwg@10"]),
                "N-Recall4+@30": float(stack["n_recall4plus@30"]), "RA-nWG@30": float(stack["ra_nwg@30"]),
            }  # fmt: skip
            first = next(rows(folder / "efficiency_leaderboard.csv"))
            ours = average_weighted_measures(quality)
            yield make_reproduced_figure(
                "RAG", "A.1 efficiency", "1: mean of four measures", "AvgPerf", first["avg_performance"], ours
            )


def _probes(folder: Path) -> Iterator[ReproducedTableValue]:
    margins = {(row["lang"], row["model"]): row for row in rows(folder / "base_margins.csv")}
    for row in rows(folder / "name_topic_ratio.csv"):
        own = margins[row["lang"], row["model"]]
        ours = float(own["delta_name"]) / float(own["delta_topic"])
        where = f"{row['lang']}, {row['model']}"
        yield make_reproduced_figure("RAG", "A.3 name over topic", where, "ratio", row["name_topic_ratio"], ours)
    cosine = {
        (row["lang"], row["model_size"], row["noise_level"]): float(row["cosine"])
        for row in rows(folder / "noise_cosine.csv")
    }
    for row in rows(folder / "noise_drop_percent.csv"):
        clean, noisy = (cosine[row["lang"], row["model_size"], level] for level in ("0", "4"))
        where = f"{row['lang']}, {row['model_size']}"
        yield make_reproduced_figure(
            "RAG", "4.4 noise", where, "drop in percent", row["drop_percent"], 100 * (clean - noisy) / clean
        )


def _indexes(folder: Path) -> Iterator[ReproducedTableValue]:
    flat, *others = rows(folder / "quantization_ann.csv")
    for row in others:
        for column in CHANGES:
            ours = 100 * (float(row[column]) / float(flat[column]) - 1)
            yield make_reproduced_figure(
                "RAG", "5.3 indexes", row["setup"], f"{column}, %", row[f"{column}_change_percent"], ours
            )
