"""How sure a difference is: two systems of a run, one system in two runs, or all that a run ranks."""

from embassay.protocols.compare.comparison import (
    Across,
    Among,
    Comparison,
    InFolder,
    Pairing,
    PairOfSystems,
    adjusted,
    compare,
    compare_systems,
    folder_of,
    leading,
    pairing,
)
from embassay.protocols.compare.contrast import (
    ByItem,
    Contrast,
    Entrant,
    Field,
    contrast,
    fields,
    higher_is_better,
    one_sided,
)
from embassay.protocols.compare.values import Place, RunValues, Side, read_values

__all__ = [
    "Across",
    "Among",
    "ByItem",
    "Comparison",
    "Contrast",
    "Entrant",
    "Field",
    "InFolder",
    "PairOfSystems",
    "Pairing",
    "Place",
    "RunValues",
    "Side",
    "adjusted",
    "compare",
    "compare_systems",
    "contrast",
    "fields",
    "folder_of",
    "higher_is_better",
    "leading",
    "one_sided",
    "pairing",
    "read_values",
]
