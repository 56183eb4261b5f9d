"""A fingerprint: what a system answered when it was measured, how its answers vary, and the lists that they made."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from embassay.errors import DataError
from embassay.limits import parse_json_written_by_embassay, read_bounded_file
from embassay.protocols.watch.distances import FLOOR, make_mask_of_missing_answers
from embassay.protocols.watch.texts import VERSION as TEXTS
from embassay.runs.folder import build_versioned_dataclass, digest_json, write_json

FORMAT, VERSION = "embassay-watch", 1
Kind = Literal["vectors", "scores", "reranker", "judge"]
"""What a system answers with: a vector of a text; similarities of a text to others; scores or grades of a question's
passages."""
Floats = NDArray[np.float64]
DEPTH = 10
"""How long the lists are whose changes count."""
_TYPES: Mapping[str, np.dtype[Any]] = {"f4": np.dtype("<f4"), "f2": np.dtype("<f2"), "i4": np.dtype("<i4")}
_MOST = 1 << 40
_STRICT = {"extra": "forbid"}
"""A field that no record has is a file of somebody else."""


@dataclass(frozen=True)
class Base64NumberArray:
    """Numbers as a file holds them: little-endian in base64, with their type and shape."""

    __pydantic_config__ = _STRICT

    type: Literal["f4", "f2", "i4"]
    shape: tuple[int, ...]
    data: str

    @classmethod
    def of(cls, values: Any, kind: Literal["f4", "f2", "i4"] = "f4") -> Base64NumberArray:
        """Pack an array of any shape."""
        array = np.ascontiguousarray(values, dtype=_TYPES[kind])
        return cls(kind, tuple(array.shape), base64.b64encode(array.tobytes()).decode("ascii"))

    def unpack_array(self) -> NDArray[Any]:
        """The array. ValueError for numbers that do not fill the shape."""
        # In Python's integers: those of numpy would overflow, and a bad shape could pass.
        size = 1
        for length in self.shape:
            size *= length
        # Before anything is decoded, because the shape comes from a file.
        if min(self.shape, default=0) < 0 or size > _MOST:
            raise ValueError(f"a shape of {self.shape}")
        try:
            content = base64.b64decode(self.data, validate=True)
        except binascii.Error as error:
            raise ValueError(f"no base64: {error}") from None
        if len(content) != size * _TYPES[self.type].itemsize:
            raise ValueError(f"{len(content)} bytes for a shape of {self.shape}")
        return np.frombuffer(content, dtype=_TYPES[self.type]).reshape(self.shape)


@dataclass(frozen=True)
class FingerprintItem:
    """One thing that is asked: a text in a role, or a text with `others` that it is compared with.

    `id` is a fixed text's or an own one's, `group` what it probes (`question` and `passage` for own ones, with `own`).
    """

    __pydantic_config__ = _STRICT

    id: str
    group: str
    text: str
    role: Literal["query", "document"] = "document"
    lang: str = ""
    pair: str = ""
    own: bool = False
    others: tuple[str, ...] = ()

    @property
    def words(self) -> int:
        """The length of its text, in words."""
        return len(self.text.split())


@dataclass(frozen=True)
class OwnTopLists:
    """The top lists of own questions among the corpus, and what is asked to see whether they change.

    The `pool` are passages (texts, and vectors (p, d)): the first 20 of each question and all labelled ones; `others`
    are drawn from the rest, and further ones are `outside`. `questions` are rows of the fingerprint's answers,
    `lists` (q, 10) places in the pool, -1 where there are fewer, `scores` (q, 11) their similarities and that of the
    next one. `relevant` are (question, place in the pool, gain).
    """

    __pydantic_config__ = _STRICT

    pool: tuple[str, ...]
    pool_vectors: Base64NumberArray
    others: tuple[str, ...]
    other_vectors: Base64NumberArray
    outside: int
    questions: tuple[int, ...]
    lists: Base64NumberArray
    scores: Base64NumberArray
    relevant: tuple[tuple[int, int, float], ...]
    best_gains: tuple[tuple[float, ...], ...]
    """Of each question the ten largest gains that there are, largest first: what a perfect list has."""


@dataclass(frozen=True)
class FingerprintCorpusSize:
    """The corpus that a fingerprint was made on: passages in all, those searched, and words of passages by percent (0,
    1 ... 100)."""

    __pydantic_config__ = _STRICT

    name: str
    passages: int
    searched: int
    questions: int
    words: tuple[int, ...]


@dataclass(frozen=True)
class GoldenSetGrades:
    """What a golden set says of passages that its judge is asked for again: `grades` (q, width), 1 to 5 and 0 where an
    item has no passage, of the items in `rows` (q,); of so many `questions` and `passages` that have a grade."""

    __pydantic_config__ = _STRICT

    name: str
    questions: int
    passages: int
    rows: tuple[int, ...]
    grades: Base64NumberArray


@dataclass(frozen=True)
class SystemAnswerFingerprint:
    """What a system answered: `answers` (n, width), one row per item, NaN where it failed, `failed` saying why; and
    `distances` (n, repeats) of further answers to the same from the first one. `tokens` are about what asking for all
    items takes, and `usd_per_million` is what that costs by the token, whatever the system charges by."""

    __pydantic_config__ = _STRICT

    kind: Kind
    system: str
    identity: str
    texts: int
    seed: int
    width: int
    max_tokens: int | None
    usd_per_million: float | None
    tokens: int
    tokenizer: str
    items: tuple[FingerprintItem, ...]
    answers: Base64NumberArray
    distances: Base64NumberArray
    failed: Mapping[str, str]
    corpus: FingerprintCorpusSize | None = None
    lists: OwnTopLists | None = None
    golden: GoldenSetGrades | None = None

    @cached_property
    def values(self) -> NDArray[np.float32]:
        """The answers, (n, width)."""
        return self.answers.unpack_array()

    @cached_property
    def noise(self) -> Floats:
        """Distances of repeats, (n, repeats)."""
        return np.asarray(self.distances.unpack_array(), dtype=np.float64)

    @property
    def repeat_count(self) -> int:
        """How often each item was asked again."""
        return self.distances.shape[1]

    @property
    def has_varied_answers(self) -> bool:
        """Whether any answer differed when it was asked for again."""
        return bool(np.nan_to_num(self.noise).max(initial=0.0) > FLOOR)

    @cached_property
    def digest(self) -> str:
        """A digest of all that is in it, which says of what fingerprint a check was."""
        return digest_json(self.as_dict())

    def as_dict(self) -> dict[str, Any]:
        """The record as plain values."""
        plain = {"format": FORMAT, "version": VERSION, **asdict(self)}
        # Fingerprints that were recorded before there was this field keep their digest.
        return plain if self.golden is not None else {k: v for k, v in plain.items() if k != "golden"}

    def save(self, path: Path) -> None:
        """Save the fingerprint as JSON, in one step; the same bytes for the same answers."""
        write_json(path, self.as_dict())


MEND = "Give a file that `embassay watch record` wrote, or record again."


def read_fingerprint(path: str | Path) -> SystemAnswerFingerprint:
    """The fingerprint in a file. DataError for any other file, with what is wrong and where."""
    file = Path(path)
    if not file.is_file():
        raise DataError("There is no such file", path=file, mend=MEND)
    try:
        return _parse_fingerprint(parse_json_written_by_embassay(read_bounded_file(file)))
    except (OSError, ValueError) as error:
        raise DataError(
            "This is not a fingerprint", path=file, expected=f"{FORMAT} {VERSION}",
            found=str(error) or "something else", mend=MEND
        ) from None  # fmt: skip


def _parse_fingerprint(plain: Any) -> SystemAnswerFingerprint:
    """A fingerprint from its JSON; ValueError for a field that is missing, unknown, of another type, or of a value that
    no fingerprint has: a file may have been edited."""
    made = build_versioned_dataclass(SystemAnswerFingerprint, plain, FORMAT, VERSION)
    _check_fingerprint_answers_match_items(made)
    if made.lists is not None:
        _check_own_top_lists_match_fingerprint(made, made.lists)
    if made.golden is not None:
        _check_golden_labels(made, made.golden)
    return made


def _check_fingerprint_answers_match_items(made: SystemAnswerFingerprint) -> None:
    """ValueError for answers that do not belong to the items."""
    n = len(made.items)
    if made.texts != TEXTS:
        raise ValueError(f"texts of version {made.texts}, but this is version {TEXTS}")
    if not n or len({(item.id, item.role) for item in made.items}) < n:
        raise ValueError("items: there are none, or one appears twice")
    _check_packed_array_matches("answers", made.answers, "f4", (n, made.width))
    _check_packed_array_matches("distances", made.distances, "f4", (n, made.distances.shape[-1]))
    lost = make_mask_of_missing_answers(made.values)
    if not np.isfinite(made.values[~lost]).all():
        raise ValueError("answers: a value that is not a number")
    noise = made.noise[~lost]
    if made.repeat_count < 1 or not np.isfinite(noise).all() or (noise < 0).any():
        raise ValueError("distances: a number that is not a distance")
    if made.usd_per_million is not None and made.usd_per_million < 0:
        raise ValueError(f"usd_per_million: {made.usd_per_million}")


def _check_own_top_lists_match_fingerprint(made: SystemAnswerFingerprint, lists: OwnTopLists) -> None:
    """ValueError for lists that name what is not there."""
    asked, pool, width = len(lists.questions), len(lists.pool), made.width
    _check_packed_array_matches("lists.pool_vectors", lists.pool_vectors, "f2", (pool, width))
    _check_packed_array_matches("lists.other_vectors", lists.other_vectors, "f2", (len(lists.others), width))
    _check_packed_array_matches("lists.lists", lists.lists, "i4", (asked, DEPTH))
    _check_packed_array_matches("lists.scores", lists.scores, "f4", (asked, DEPTH + 1))
    for name, packed in (("pool_vectors", lists.pool_vectors), ("other_vectors", lists.other_vectors)):
        if not np.isfinite(packed.unpack_array().astype(np.float32)).all():
            raise ValueError(f"lists.{name}: a value that is not a number")
    places = lists.lists.unpack_array()
    if not ((places >= -1) & (places < pool)).all():
        raise ValueError("lists.lists: a position that is not in the pool")
    if not all(0 <= row < len(made.items) for row in lists.questions) or lists.outside < 0:
        raise ValueError("lists.questions: a row that does not exist")
    if len(lists.best_gains) != asked:
        raise ValueError("lists.best_gains: expected one entry for each question")
    for question, place, gain in lists.relevant:
        if not (0 <= question < asked and 0 <= place < pool and 0 <= gain < np.inf):
            raise ValueError(f"lists.relevant: {question}, {place}, {gain}")


def _check_golden_labels(made: SystemAnswerFingerprint, golden: GoldenSetGrades) -> None:
    """ValueError for labels of what is not asked."""
    _check_packed_array_matches("golden.grades", golden.grades, "i4", (len(golden.rows), made.width))
    if made.kind != "judge" or not all(0 <= row < len(made.items) for row in golden.rows):
        raise ValueError("golden.rows: a row that does not exist")
    grades = golden.grades.unpack_array()
    if not golden.rows or not ((grades >= 0) & (grades <= 5)).all() or not (grades > 0).any(axis=1).all():
        raise ValueError("golden.grades: a number that is not a grade")


def _check_packed_array_matches(name: str, packed: Base64NumberArray, kind: str, shape: Sequence[int]) -> None:
    if packed.type != kind or tuple(packed.shape) != tuple(shape):
        raise ValueError(f"{name}: {packed.type} of shape {list(packed.shape)}, expected {kind} of {list(shape)}")
    try:
        packed.unpack_array()
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
