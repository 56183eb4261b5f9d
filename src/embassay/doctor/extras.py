"""The extras of the package: which are here, and which package one lacks."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from types import MappingProxyType

PURPOSES: Mapping[str, str] = MappingProxyType({
    "onnx": "minilm and other ONNX folders, without torch",
    "openvino": "minilm and other ONNX folders, faster",
    "static": "model2vec models",
    "torch": "sentence-transformers models",
    "mteb": "models of mteb's registry",
    "hub": "datasets of the Hugging Face hub",
    "llm": "chat models and embeddings behind a server",
    "ray": "runs on a cluster (--engine ray)",
    "ann": "approximate indexes",
    "pg": "indexes and studies in PostgreSQL",
    "elastic": "indexes in Elasticsearch",
    "web": "annotation pages and leaderboards",
    "ir": "our measures inside ir_measures",
    "mlflow": "runs logged in MLflow",
    "wandb": "runs logged in Weights & Biases",
})  # fmt: skip
"""What a user has of each extra; those for developers are not among them."""
_REQUIREMENT = re.compile(
    r"\s*(?P<name>[A-Za-z0-9._-]+)\s*(?:\[[^]]*\])?\s*(?P<versions>[^;]*?)\s*"
    r"(?:;.*\bextra\s*==\s*['\"](?P<extra>[^'\"]+)['\"].*)?"
)
_LEAST = re.compile(r">=\s*([0-9][0-9.]*)")


@dataclass(frozen=True)
class Extra:
    """An extra. `missing` are its packages that are not installed, `old` those below the version that is needed, each
    with both versions."""

    name: str
    purpose: str
    missing: tuple[str, ...] = ()
    old: tuple[str, ...] = ()

    @property
    def here(self) -> bool:
        """Whether all of it is installed."""
        return not self.missing and not self.old

    @property
    def mend(self) -> str:
        """How it is had."""
        return f"pip install 'embassay[{self.name}]'"


def extras(distribution: str = "embassay") -> tuple[Extra, ...]:
    """The extras of an installed distribution, in the order of PURPOSES; empty where it is not installed."""
    try:
        lines = metadata.requires(distribution) or []
    except metadata.PackageNotFoundError:
        return ()
    wanted: dict[str, list[tuple[str, str]]] = {}
    for line in lines:
        found = _REQUIREMENT.fullmatch(line)
        if found and found["extra"]:
            wanted.setdefault(found["extra"], []).append((found["name"], found["versions"]))
    return tuple(_extra(name, wanted[name]) for name in PURPOSES if name in wanted)


def _extra(name: str, packages: list[tuple[str, str]]) -> Extra:
    missing, old = [], []
    for package, versions in packages:
        try:
            here = metadata.version(package)
        except metadata.PackageNotFoundError:
            missing.append(package)
            continue
        least = _LEAST.search(versions)
        if least and _ordered(here) < _ordered(least[1]):
            old.append(f"{package} {here} (needs {least[1]})")
    return Extra(name, PURPOSES[name], tuple(missing), tuple(old))


def _ordered(version: str) -> tuple[int, ...]:
    """The numbers that a version begins with; enough to compare with a lower bound of ours.

    >>> _ordered("1.20.0rc1") < _ordered("1.20.1"), _ordered("2") >= _ordered("2.0")
    (True, True)
    """
    numbers = [int(part) for part in re.findall(r"\d+", re.split(r"[a-zA-Z+]", version)[0])]
    while numbers and numbers[-1] == 0:
        numbers.pop()
    return tuple(numbers)
