"""What is evaluated on: from a catalogue name or a path to records, everything checked at the door.

    open_dataset("sample").load("labelled").data.texts

`DATASETS` is the catalogue; `draw` and `draw_stratified` are the seeded draws behind every limit, `grade_map`
reads `--grades` and `parse_mapping` reads `--map`.
"""

from embassay.data.catalogue import DATASETS
from embassay.data.dataset import Dataset
from embassay.data.retrieval import grade_map
from embassay.data.shapes import SHAPES
from embassay.data.sources import open_dataset, parse_mapping
from embassay.data.views import draw, draw_stratified

__all__ = ["DATASETS", "SHAPES", "Dataset", "draw", "draw_stratified", "grade_map", "open_dataset", "parse_mapping"]
