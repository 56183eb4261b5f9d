"""What is installed, and whether what is bundled works: milliseconds to seconds each, and none asks the network."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from types import MappingProxyType
from typing import Literal

State = Literal["ok", "absent", "broken"]


@dataclass(frozen=True)
class Check:
    """What was tried and what came of it: `absent` is what a user may add, `broken` what should work and does not."""

    name: str
    state: State
    told: str
    mend: str = ""


def examine(cache: Path) -> Iterator[Check]:
    """Try the sample data, the bundled encoder, minilm, the paper's tokenizer, the cache and the vendors' keys."""
    yield _tried("sample data", _sample, "broken")
    yield _tried("wordllama", lambda: _encoder("wordllama"), "broken")
    yield _tried("minilm", lambda: _encoder("minilm"), "absent")
    yield _tried("cl100k", _vocabulary, "absent")
    yield _tried("cache", lambda: _written(cache), "broken")
    yield _keys()


def _tried(name: str, do: Callable[[], str], otherwise: State) -> Check:
    """`do` tells what it found, or raises."""
    from embassay.errors import EmbassayError

    try:
        return Check(name, "ok", do())
    except EmbassayError as error:
        return Check(name, otherwise, error.message, error.mend or "")
    except Exception as error:  # a damaged installation fails in any way
        return Check(
            name, "broken", f"{type(error).__name__}: {error}".partition("\n")[0], "Install it anew."
        )


def _sample() -> str:
    from embassay.data import open_dataset

    loaded = open_dataset("sample").load("labelled")
    return f"{len(loaded.data):,} labelled texts"


def _encoder(name: str) -> str:
    from embassay.systems import open_system
    from embassay.text import open_tokenizer

    system = open_system(name, tokenizer=open_tokenizer("words"))
    found = system.pairs(["A cat sleeps.", "Rain fell."], ["A cat is asleep.", "The invoice is late."])
    if not found[0] > found[1]:
        raise ValueError(f"it finds {found[0]:.3f} and {found[1]:.3f} where the first should be larger")
    return f"similar {found[0]:.2f}, unrelated {found[1]:.2f}"


def _vocabulary() -> str:
    from embassay.errors import ModelError
    from embassay.text import open_tokenizer
    from embassay.text.tokenizers import at_hand

    if not at_hand():
        raise ModelError(
            "its vocabulary is not here; the first run that counts the paper's tokens downloads it",
            mend="Set TIKTOKEN_CACHE_DIR to a folder that has it, or use --tokenizer words.",
        )
    return f"{len(open_tokenizer('cl100k').encode('Hello world'))} tokens in Hello world"


def _written(cache: Path) -> str:
    """A file can be made, read and removed."""
    cache.mkdir(parents=True, exist_ok=True)
    probe = cache / f".doctor-{os.getpid()}"
    probe.write_bytes(b"embassay")
    try:
        if probe.read_bytes() != b"embassay":
            raise OSError("what was written is not what is read")
    finally:
        probe.unlink(missing_ok=True)
    return "can be written"


def _keys() -> Check:
    """Which vendors' keys are set; a key itself is never looked at."""
    from embassay.systems.remote.vendors import COHERE, GEMINI, JINA, VOYAGE

    names = ("OPENAI_API_KEY", *(name for one in (COHERE, VOYAGE, JINA, GEMINI) for name in one.keys))
    given = [name for name in names if os.environ.get(name, "").strip()]
    if given:
        return Check("keys", "ok", f"{', '.join(given)} set")
    return Check("keys", "absent", "none is set: models behind a server need one", f"export {names[0]}=...")


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
    "figures": "figures of runs as SVG and PDF",
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
