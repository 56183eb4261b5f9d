"""The file that says what to sweep: YAML in, a checked request out, and one error with its line for what is wrong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from embassay.data.rows import nearest
from embassay.data.yaml12 import line_of, read_yaml
from embassay.errors import DataError, UsageError
from embassay.protocols.rag.sweep.request import CUTOFFS, MEASURES, SEED, SweepRequest
from embassay.protocols.rag.tradeoffs.efficiency import WEIGHTS
from embassay.protocols.rag.tradeoffs.stack import COST_SHARE

if TYPE_CHECKING:
    from collections.abc import Iterator

_NONE = "none"


def _listed(value: object) -> object:
    return value if isinstance(value, list) else [value]


def _text(value: object) -> object:
    """`none`, `null` and nothing are one; a number is its digits."""
    if value is None:
        return _NONE
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _off(value: object) -> object:
    return 0.0 if value is None or value is False or value == _NONE else value


def _full(value: object) -> object:
    return None if value == "full" else value


Text = Annotated[str, BeforeValidator(_text), Field(min_length=1)]
Texts = Annotated[list[Text], BeforeValidator(_listed), Field(min_length=1)]
# Strict: `true` is no 1, and a text of digits is no number.
Whole = Annotated[int, Field(strict=True, ge=0, le=2**31 - 1)]
Positive = Annotated[int, Field(strict=True, ge=1, le=2**31 - 1)]
Share = Annotated[float, BeforeValidator(_off), Field(strict=True, ge=0, le=1)]
Weight = Annotated[float, BeforeValidator(_off), Field(strict=True, ge=0, allow_inf_nan=False)]
Usd = Annotated[float, Field(strict=True, ge=0, allow_inf_nan=False)]
Milliseconds = Annotated[float, Field(strict=True, gt=0, allow_inf_nan=False)]
Mode = Literal["dense", "hybrid", "dense+rerank", "hybrid+rerank"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class DatasetFile(_Strict):
    """A dataset with what it takes to read it."""

    path: Text
    map: dict[str, str] = {}
    split: str | None = None
    grades: str | None = None
    exclude_self: bool = False


class LatencyFile(_Strict):
    """How time is taken."""

    queries: Positive = 20
    warmup: Whole = 3
    repeats: Positive = 3
    concurrency: Positive = 4


class PricesFile(_Strict):
    """US dollars per million tokens."""

    date: str = ""
    rerank: dict[str, Usd] = {}
    embed: dict[str, Usd] = {}
    generator: Usd | None = None


class RulesFile(_Strict):
    """What the operator asks for."""

    measure: str = "RA-nWG@10"
    sla_ms: Milliseconds | None = None
    budget: Usd | None = None
    target: Annotated[float, Field(strict=True, allow_inf_nan=False)] | None = None
    percentile: Annotated[float, Field(strict=True, gt=0, lt=100)] = 50.0
    passages: Positive = 10
    slos_ms: Annotated[list[Milliseconds], BeforeValidator(_listed)] = [350.0, 500.0]
    jitter_ms: Weight | None = None
    cost_share: Share = COST_SHARE
    efficiency: dict[str, Weight] = dict(WEIGHTS)


class SweepFile(_Strict):
    """The whole file."""

    datasets: Annotated[list[Text | DatasetFile], BeforeValidator(_listed), Field(min_length=1)]
    encoder: Texts
    dims: Annotated[
        list[Annotated[Positive | None, BeforeValidator(_full)]],
        BeforeValidator(_listed),
        Field(min_length=1),
    ] = [None]
    index: Texts = ["flat"]
    k: Annotated[list[Positive], BeforeValidator(_listed), Field(min_length=1)] = [50]
    reranker: Texts = [_NONE]
    mode: Annotated[list[Mode], BeforeValidator(_listed), Field(min_length=1)] = ["dense"]
    rewrite: Texts = [_NONE]
    deduplicate: Annotated[list[Share], BeforeValidator(_listed), Field(min_length=1)] = [0.0]
    boost: Annotated[list[Weight], BeforeValidator(_listed), Field(min_length=1)] = [0.0]
    chunk: Texts = [_NONE]
    queries: Positive = 100
    depth: Positive = 100
    rrf_c: Weight = 60.0
    measures: Texts = list(MEASURES)
    cutoffs: Annotated[list[Positive], BeforeValidator(_listed), Field(min_length=1)] = list(CUTOFFS)
    latency: LatencyFile = LatencyFile()
    prices: PricesFile = PricesFile()
    rules: RulesFile = RulesFile()
    tokenizer: str = "words"
    seed: Whole = SEED


def read_config(path: Path) -> SweepRequest:
    """The request that the file makes. UsageError or DataError, with the line, for what is wrong in it."""
    if not path.is_file():
        raise UsageError(f"There is no file {str(path)!r}.", mend="Name the YAML file of the sweep.")
    content = read_yaml(path)
    if not isinstance(content, dict):
        raise DataError(
            "the file is no mapping", path=path, expected="datasets: ... and encoder: ...",
            found=type(content).__name__, mend="Begin with `datasets:` and `encoder:`; see docs/sweep.md.",
        )  # fmt: skip
    return request_of(content, base=path.parent, where=_Where(path))


class _Where:
    """Says where in the file a value stands: `sweep.yaml:3: `."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path

    def __call__(self, place: Sequence[str | int]) -> str:
        if self.path is None:
            return ""
        return f"{self.path}:{line_of(self.path, place)}: "

    @contextmanager
    def at(self, *place: str | int) -> Iterator[None]:
        """Say the place of errors inside."""
        try:
            yield
        except UsageError as error:
            raise UsageError(f"{self(place)}{error.message}", mend=error.mend) from None


def request_of(
    content: Mapping[str, Any], *, base: Path = Path(), where: _Where | None = None
) -> SweepRequest:
    """The request that a mapping with the keys of the file makes; relative paths start from `base`."""
    from embassay.protocols.rag.sweep.checks import checked

    where = where or _Where()
    try:
        file = SweepFile.model_validate(dict(content))
    except ValidationError as error:
        raise _wrong(error, where) from None
    return checked(file, base, where.at)


def _wrong(error: ValidationError, where: _Where) -> UsageError:
    """The first thing that is wrong, in one line."""
    first = min(error.errors(), key=lambda one: one["type"] != "extra_forbidden")
    # Pydantic names the branch of a union among the keys; a key that is not known comes last, whatever it is called.
    last = first["loc"][-1:] if first["type"] == "extra_forbidden" else ()
    above = first["loc"][: len(first["loc"]) - len(last)]
    place = [part for part in above if part not in ("DatasetFile", "str") and "[" not in str(part)] + [*last]
    name = ".".join(part for part in place if isinstance(part, str))
    if first["type"] == "extra_forbidden":
        known = _keys(place[:-1])
        near = nearest(str(place[-1]), known)
        return UsageError(
            f"{where(place)}there is no key {name!r}.",
            mend=f"Did you mean {near!r}?" if near else f"Keys are {', '.join(known)}.",
        )
    if first["type"] == "missing":
        return UsageError(
            f"{where(place[:-1])}the key {name!r} is missing.",
            mend=f"Add a line {place[-1]}: ... to the file.",
        )
    return UsageError(
        f"{where(place)}{name} is {first['input']!r}: {first['msg'].lower()}.", mend="See docs/sweep.md."
    )


def _keys(place: Sequence[str | int]) -> list[str]:
    inner: Mapping[str, type[BaseModel]] = {
        "datasets": DatasetFile, "latency": LatencyFile, "prices": PricesFile, "rules": RulesFile,
    }  # fmt: skip
    model = inner.get(str(place[0]), SweepFile) if place else SweepFile
    return list(model.model_fields)
