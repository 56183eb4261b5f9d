"""What the drops go with: the original score, length, language, edit distance; and what stands beside them (table 1,
table 13, figure 5). Pure functions over the rows, items and wordings of a run."""

from embassay.protocols.pteb.analysis.datasets import (
    AgainstOriginal,
    ByLanguage,
    DatasetUsed,
    against_original,
    by_language,
    datasets_used,
)
from embassay.protocols.pteb.analysis.distance import (
    AgainstDistance,
    DistancePoint,
    SideBySide,
    Wording,
    against_distance,
    side_by_side,
)
from embassay.protocols.pteb.analysis.drops import Drop, Drops, drops
from embassay.protocols.pteb.analysis.groups import Contrast, Group
from embassay.protocols.pteb.analysis.words import (
    LengthBin,
    WordCount,
    average,
    by_length,
    item_words,
    word_counts,
)

__all__ = [
    "AgainstDistance",
    "AgainstOriginal",
    "ByLanguage",
    "Contrast",
    "DatasetUsed",
    "DistancePoint",
    "Drop",
    "Drops",
    "Group",
    "LengthBin",
    "SideBySide",
    "WordCount",
    "Wording",
    "against_distance",
    "against_original",
    "average",
    "by_language",
    "by_length",
    "datasets_used",
    "drops",
    "item_words",
    "side_by_side",
    "word_counts",
]
