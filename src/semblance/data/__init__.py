"""What is evaluated on: from a catalogue name or a path to records, everything checked at the door.

    open_dataset("sample").load("labelled").data.texts

`DATASETS` is the catalogue; `draw` and `draw_stratified` are the seeded draws behind every limit, `grade_map`
reads `--grades` and `parse_mapping` reads `--map`.
"""

from semblance.data.catalogue import DATASETS
from semblance.data.dataset import Dataset
from semblance.data.grades import grade_map
from semblance.data.opening import open_dataset, parse_mapping
from semblance.data.sampling import draw, draw_stratified
from semblance.data.shapes import SHAPES

__all__ = [
    "DATASETS",
    "SHAPES",
    "Dataset",
    "draw",
    "draw_stratified",
    "grade_map",
    "open_dataset",
    "parse_mapping",
]
