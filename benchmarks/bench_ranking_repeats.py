"""How alike the orders are that each engine finds on the same pools again (spec rag 4.2): R runs of each pool.

    python benchmarks/bench_ranking_repeats.py --engines grades single_shot locks bayes --pools 20 --runs 5

Each run has a seed of its own for engine and judge. Tokens are not counted in a simulation: the passages that the judge
read times the tokens of one (515 in the source) are a good guess.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from ranking_worlds import DISAGREEMENTS, WORLDS, draw_pool, play
from timing import parse_sizes

from embassay.protocols.rag.ranking.engines import ENGINES
from embassay.protocols.rag.ranking.reliability import RepeatedOrderAgreement, compare_repeated_orders, mean_or_none

FRESH = 20_000
TOKENS = 515


MEANS = ("discordance", "overlap", "calls", "passages", "tokens")


def repeated(spec: str, world: str, disagreement: float, pools: int, runs: int) -> RepeatedOrderAgreement:
    """The means over pools, compared with the true order."""
    engine, found = ENGINES.build(spec), []
    for number in range(FRESH, FRESH + pools):
        pool = draw_pool(WORLDS[world], number)
        played = [play(engine, pool, disagreement, max_calls=5000, seed=1000 * number + run) for run in range(runs)]
        found.append(
            compare_repeated_orders(
                [one.ranking.order for one in played],
                top=pool.world.top,
                reference=pool.truth.tolist(),
                shown=[[len(call.shown) for call in one.calls] for one in played],
                tokens=[TOKENS * sum(len(call.shown) for call in one.calls) for one in played],
            )
        )
    tau = [one.tau for one in found if one.tau is not None]
    means = {name: mean_or_none([getattr(one, name) for one in found]) for name in MEANS}
    return replace(found[0], **means, tau=mean_or_none(tau))


def table(asked: argparse.Namespace) -> Iterator[str]:
    heads = ("engine", "disagreement", "discordance of runs", "overlap of their tops", "tau to the truth", "calls")
    yield "| " + " | ".join((*heads, "passages read", "thousand tokens")) + " |"
    yield "|---|---|---|---|---|---|---|---|"
    for disagreement in asked.disagreements:
        for spec in asked.engines:
            one = repeated(spec, asked.world, disagreement, asked.pools, asked.runs)
            yield (
                f"| `{spec}` | {disagreement:.0%} | {one.discordance:.3f} | {one.overlap:.3f} | {one.tau:.3f} | "
                f"{one.calls:.0f} | {one.passages:.0f} | {(one.tokens or 0) / 1000:.0f} |"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--engines", nargs="+", default=["grades", "single_shot", "locks", "bayes"])
    parser.add_argument("--world", default="normal", choices=list(WORLDS))
    parser.add_argument("--disagreements", nargs="+", type=float, default=list(DISAGREEMENTS))
    parser.add_argument("--pools", type=int, default=20)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--markdown", type=Path)
    asked = parse_sizes(parser, pools=1, runs=2, disagreements=[0.1], engines=["grades", "locks"])
    lines = []
    for line in table(asked):
        lines.append(line)
        print(line, flush=True)
    if asked.markdown:
        asked.markdown.write_text("\n".join(lines) + "\n", "utf-8")


if __name__ == "__main__":
    main()
