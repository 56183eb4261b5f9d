"""One call for all three questions of `compare`: two systems of a run, one system in two runs, all that a run ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from embassay.errors import UsageError
from embassay.protocols.compare.contrast import Contrast
from embassay.protocols.compare.many import Field, fields
from embassay.protocols.compare.pairs import PairOfSystems, compare_systems, leading
from embassay.protocols.compare.values import read_values
from embassay.registry import attribute


class InFolder(Protocol):
    """What has the folder of a run, as `embassay.sage.run` gives it."""

    @property
    def path(self) -> Path | None:
        """The folder."""


@dataclass(frozen=True)
class Comparison:
    """Two systems (`pair`), or all systems of a run (`fields`). Printed, it is what the command says."""

    protocol: str
    pair: PairOfSystems | None = None
    fields: tuple[Field, ...] = ()

    @property
    def contrasts(self) -> tuple[Contrast, ...]:
        """First minus second at every place that both have: the overall score first, then tasks and datasets. Empty for
        all systems of a run."""
        return self.pair.contrasts if self.pair else ()

    @property
    def leading(self) -> Contrast:
        """The contrast that the verdict is about. UsageError for all systems of a run, which have none."""
        if not self.contrasts:
            raise UsageError("All systems of a run have no one difference.", mend="Name two systems.")
        return leading(self.contrasts)

    def __str__(self) -> str:
        """Verdict, table and notes in 80 columns."""
        # How it looks is said above the protocols, and found when somebody looks.
        look = "embassay.report.comparisons:render_" + ("pair" if self.pair else "fields")
        return str(attribute(look)(self.pair or self.fields, self.protocol).plain)


def compare(
    *runs: str | Path | InFolder,
    a: str | None = None,
    b: str | None = None,
    tasks: Sequence[str] = (),
    measures: Sequence[str] = (),
    datasets: Sequence[str] = (),
    seed: int = 1337,
) -> Comparison:
    """System `a` against `b` in one run; `a` in a run against `b` (by default `a`) in a second; without names, all
    systems of a run. `runs` are folders, or runs as `embassay.open_run` gives them.

    Differences are paired over the same items where both runs have them. p is corrected by Holm within each family: the
    overall score alone, its parts among themselves. `tasks` and `measures` keep these alone, `datasets` too for all
    systems; `seed` is that of the random swaps.

    Raises UsageError for a name that is not in the run, DataError for a folder without a run.
    """
    if not 1 <= len(runs) <= 2:
        raise UsageError(f"{len(runs)} runs are given.", mend="Give one run, or two.")
    read = [read_values(folder_of(run)) for run in runs]
    protocol = read[0].protocol
    if a is None and b is None and len(read) == 1:
        return Comparison(protocol, fields=tuple(fields(read[0], tasks, datasets, measures)))
    if datasets:
        raise UsageError(
            "A dataset is chosen, and two systems are compared over all of them.",
            mend="Leave it out, or leave out the names of the systems.",
        )
    if a is None:
        raise UsageError("The system to compare, a, is missing.", mend="Name it, or leave out b as well.")
    if b is None and len(read) == 1:
        raise UsageError("The system to compare with, b, is missing.", mend="Name it, or give a second run.")
    pair = compare_systems(read[0], a, b or a, *read[1:], tasks=tasks, measures=measures, seed=seed)
    return Comparison(protocol, pair)


def folder_of(run: str | Path | InFolder) -> Path:
    """The folder of a run that is given as a path or as a run. UsageError for a run that kept none."""
    if isinstance(run, str | Path):
        return Path(run)
    if run.path is None:
        raise UsageError("The run has no folder.", mend="Run it with out=FOLDER.")
    return run.path
