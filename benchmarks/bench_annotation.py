"""How long a save takes while twenty annotate at once over HTTP and the server is killed three times.

    python benchmarks/bench_annotation.py            a minute; --quick: ten seconds and one kill
    python benchmarks/bench_annotation.py --pause 0  everybody answers as fast as they are served

By default everybody thinks for 0.1 s on average, some fifty times as fast as people. Exits with 1 where an answer
that was acknowledged is not there exactly once.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
from pathlib import Path

from annotators import Served, let_annotate, lost_or_doubled, made_study


def main() -> int:
    """Print what happened; the exit code."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pause", type=float, default=0.1, help="seconds of thought, on average")
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--database", help="a PostgreSQL server; default: SQLite")
    given = parser.parse_args()
    seconds, kills = (10.0, 1) if given.quick else (60.0, 3)
    with tempfile.TemporaryDirectory() as folder:
        study = made_study(Path(folder) / "study", 40)
        served = Served(study, [f"p{at:02}" for at in range(given.people)], database=given.database)
        people = let_annotate(served, seconds=seconds, kills=kills, pause=given.pause)
        code, _ = served.stop()
        wrong = lost_or_doubled(study, served, people)
    saves = sorted(1000 * one for person in people for one in person.seconds)
    cut = statistics.quantiles(saves, n=100)
    print(
        f"{given.people} annotators, {seconds:g} s, {kills} kills, pause {given.pause:g} s: {len(saves):,} saves "
        f"acknowledged, {len(saves) / seconds:,.0f} a second"
    )
    print(f"save: p50 {cut[49]:.1f} ms, p95 {cut[94]:.1f} ms, p99 {cut[98]:.1f} ms, longest {saves[-1]:.0f} ms")
    print(f"asked again while no server answered: {sum(person.unanswered for person in people):,}")
    print(f"acknowledged and not there exactly once: {len(wrong)}; exit of the stopped server: {code}")
    for line in wrong[:10]:
        print(f"  {line}")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main())
