"""The catalogue: every dataset that can be named without a path.

`entries.py` reads the records, YAML files beside it; `hub.py` makes a dataset of one, from the mirror or from the hub,
and fills the mirror; `suites.py` has the papers' sets of them.
"""

from __future__ import annotations

from embassay.data.dataset import Dataset
from embassay.data.shapes import SHAPES
from embassay.registry import Registry


class DatasetCatalogue(Registry[Dataset]):
    """The registry of datasets; the records are read when a name is looked for that is not there yet."""

    def _load_plugins(self) -> None:
        if not self._plugins_loaded:
            from embassay.data.catalogue.entries import register_all_datasets

            register_all_datasets(self)
        super()._load_plugins()


DATASETS = DatasetCatalogue("dataset", makes=[["load", "shapes"]])
DATASETS.add(
    "sample",
    "embassay.data.sources:sample",
    "48 short documents with summaries, questions, labels and pairs, covering every shape",
    lang="mul",
    shapes=" ".join(SHAPES),
)
DATASETS.add(
    "hub",
    "embassay.data.catalogue.hub:open_hub_repository_split",
    "hub:ORG/NAME, one table of any dataset on the Hugging Face hub",
)
