"""Scripts answer a study of HUME: they know what is right and err at random. Nobody annotates; tables say `simulated`.

python benchmarks/answer_study.py STUDY [--annotators 2] [--noise 0.15] [--seed 1]
"""

from __future__ import annotations

import argparse
from pathlib import Path

from embassay.protocols.hume.collection import KIND, check_nobody_answered, simulate_annotators
from embassay.protocols.hume.study import read_study, write_annotations


def main() -> None:
    """Write their answers into the study's folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("study", type=Path)
    parser.add_argument("--annotators", type=int, default=2)
    parser.add_argument("--noise", type=float, default=0.15, help="how much they err, 0 to 1")
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    study = read_study(given.study)
    check_nobody_answered(study)
    rows = simulate_annotators(study, given.annotators, noise=given.noise, seed=given.seed)
    print(f"{len(rows)} answers: {write_annotations(given.study, KIND, rows)}")


if __name__ == "__main__":
    main()
