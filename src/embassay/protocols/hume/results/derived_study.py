"""A study made of result files themselves, where they are of no dataset of the paper: another study's, exported."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from embassay.errors import DataError
from embassay.protocols.hume.published.evaluations import Evaluation
from embassay.protocols.hume.published.study import ENGLISH_ONLY, MULTILINGUAL, Dataset, Model, Pair, Study
from embassay.protocols.hume.results.as_published import METRICS
from embassay.protocols.hume.scoring.people import MAIN
from embassay.protocols.hume.study import FAMILIES, Family

SOURCE = "the results themselves"


def derived(evaluations: Sequence[Evaluation], human: str) -> Study:
    """The datasets that people (`human`) have results on, with the models of all other systems.

    Families are told by the measures of a file. Raises DataError for people in several revisions, and measures of no
    family; without people the study has no pairs.
    """
    people = [one for one in evaluations if one.system == human]
    revisions = sorted({one.revision for one in people})
    if len(revisions) > 1:
        raise DataError(
            f"The results hold people in {len(revisions)} revisions", found=", ".join(revisions),
            mend="Give the files of one revision.",
        )  # fmt: skip
    names = dict.fromkeys(one.dataset for one in people)
    datasets = tuple(_dataset(name, [one for one in people if one.dataset == name]) for name in names)
    systems = dict.fromkeys(one.system for one in evaluations if one.system != human)
    return Study(datasets, tuple(Model(name) for name in systems), human, "".join(revisions), SOURCE)


def _dataset(name: str, own: Sequence[Evaluation]) -> Dataset:
    family = _family(name, own)
    group = MULTILINGUAL if {one.lang for one in own} - {"eng"} else ENGLISH_ONLY
    pairs = tuple(
        Pair(name, one.lang, family, _items(one), max(len(one.per_experiment), 1), group) for one in own
    )
    return Dataset(name, name, family, METRICS[family], pairs)


def _family(name: str, own: Iterable[Evaluation]) -> Family:
    known = {metric for one in own for metric in one.metrics}
    found = [family for family in FAMILIES if MAIN[family] in known]
    if len(found) != 1:
        raise DataError(
            f"The results of {name} are of no family of HUME", found=", ".join(sorted(known)) or "no measures",
            expected=f"one of {', '.join(MAIN.values())}", mend="Leave the file out.",
        )  # fmt: skip
    return found[0]


def _items(one: Evaluation) -> int:
    """How many items were annotated; 0 where a file does not say, as for one annotator."""
    return int(one.agreement.get("n_items", 0) or one.metrics.get("n_items", 0))
