"""The names that users and scripts rely on are there, documented, and listed once."""

from __future__ import annotations

import importlib
import inspect

import pytest

import embassay

LISTED = [
    "embassay",
    "embassay.data",
    "embassay.interchange",
    "embassay.measures",
    "embassay.protocols.hume",
    "embassay.protocols.pteb",
    "embassay.protocols.sage",
    "embassay.report",
    "embassay.runs",
    "embassay.search",
    "embassay.stats",
    "embassay.systems",
    "embassay.text",
]
PROMISED = {
    "embassay.protocols.hume": ["PublishedRequest", "StudyRequest", "read_study", "read_summary", "score"],
    "embassay": [
        "data",
        "hume",
        "interchange",
        "measures",
        "pteb",
        "report",
        "sage",
        "search",
        "stats",
        "systems",
        "text",
        "__version__",
    ],
    "embassay.protocols.sage": ["Request", "SageOptions", "TASKS", "run"],
    "embassay.protocols.pteb": ["PtebOptions", "Request", "TASKS", "judge", "run"],
    "embassay.data": ["DATASETS", "open_dataset"],
    "embassay.interchange": [
        "export",
        "import_results",
        "log_to_mlflow",
        "log_to_trackio",
        "log_to_wandb",
        "read_results",
    ],
    "embassay.systems": ["SYSTEMS", "open_system"],
    "embassay.text": ["PERTURBATIONS", "TOKENIZERS", "open_tokenizer", "perturb", "perturb_all"],
    "embassay.measures": [
        *("ami", "ari", "average_precision", "ndcg", "precision", "recall", "reciprocal_rank", "v_measure"),
        *("edit_distance", "fleiss_kappa", "cohen_kappa", "krippendorff_alpha", "MEASURES"),
        *("ra_nwg", "n_recall", "harm", "proc", "hit", "evaluate_graded", "sensitivity_grid"),
    ],
    "embassay.stats": [
        *("bootstrap_ci", "paired_bootstrap", "hodges_lehmann", "wilcoxon", "wilson", "fisher_z"),
        *("randomization_test", "rank_intervals", "holm"),
    ],
    "embassay.report": ["write_report"],
}


@pytest.mark.parametrize("module", LISTED)
def test_the_list_of_public_names_is_true(module: str) -> None:
    """Every name in `__all__` exists, once."""
    package = importlib.import_module(module)
    names = getattr(package, "__all__", [])
    assert len(names) == len(set(names))
    for name in names:
        assert getattr(package, name) is not None


@pytest.mark.parametrize("module", PROMISED)
def test_promised_names_are_public(module: str) -> None:
    """The names that scripts, papers and other packages use stay where they are."""
    package = importlib.import_module(module)
    assert set(PROMISED[module]) <= set(package.__all__)


@pytest.mark.parametrize("module", LISTED)
def test_public_functions_and_classes_are_documented(module: str) -> None:
    """Everything public has a docstring, and every public function says the type of each argument."""
    package = importlib.import_module(module)
    for name in getattr(package, "__all__", []):
        thing = getattr(package, name)
        if not callable(thing) or inspect.ismodule(thing):
            continue
        assert inspect.getdoc(thing), f"{module}.{name}"
        if inspect.isfunction(thing):
            parameters = inspect.signature(thing).parameters.values()
            assert all(one.annotation is not inspect.Parameter.empty for one in parameters), f"{module}.{name}"


def test_an_unknown_part_is_an_attribute_error() -> None:
    """Parts load when they are used; a name that is none of them fails as in any module."""
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        embassay.nothing  # noqa: B018


def test_the_protocol_is_a_part_of_the_package() -> None:
    """`embassay.sage` is the protocol, without an import of its own."""
    assert embassay.sage is importlib.import_module("embassay.protocols.sage")


@pytest.mark.parametrize(("name", "part"), [("golden", "options"), ("questions", "options"), ("sweep", "config")])
def test_a_call_that_is_also_a_package_stays_a_call(name: str, part: str) -> None:
    """Once a module of the package is loaded, Python lets its name stand for the package."""
    importlib.import_module(f"embassay.protocols.rag.{name}.{part}")
    assert callable(getattr(embassay.rag, name))
