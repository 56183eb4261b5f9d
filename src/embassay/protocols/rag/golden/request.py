"""What the making of a golden set was asked to do, and which stages another request would have to redo."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.rag.golden.options import GoldenOptions
from embassay.protocols.rag.ranking.engines import ENGINES
from embassay.runs.files import to_json
from embassay.runs.folder import RunFolder

RANKING = "bayes"
REWRITER = "identity"
FIXED = ("corpus", "queries", "dataset", "mapping", "split", "limit", "seed")
"""What makes it another golden set."""
RANKING_KNOBS = ("batch", "stability_turns", "confirmations")
_STAGE_OF: Mapping[str, str | None] = {
    **dict.fromkeys(FIXED, "S1"),
    **dict.fromkeys(("encoder", "rewriter", "nfc"), "S1"),
    **dict.fromkeys(("chunk", "overlap", "tokenizer", "depth", "bm25_k1", "bm25_b"), "S2"),
    "rrf_c": "S3",
    **dict.fromkeys(("judge", "judge_question", "failed"), "S4"),
    "minimum": "S5",
    **dict.fromkeys(("ranking", "top", *RANKING_KNOBS), "S6"),
    **dict.fromkeys(("repeat", "human"), None),
}
"""Argument -> the first stage whose artefacts depend on it; None for what only the summary does."""


@dataclass(frozen=True)
class GoldenRequest:
    """The arguments of a golden run. `encoder`, `judge`, `rewriter` and `ranking` are spec strings."""

    encoder: str
    judge: str
    corpus: str = ""
    queries: str = ""
    dataset: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    split: str | None = None
    limit: int | None = None
    seed: int = 1337
    rewriter: str = REWRITER
    ranking: str = RANKING
    tokenizer: str = "words"
    options: GoldenOptions = field(default_factory=GoldenOptions)

    def __post_init__(self) -> None:
        for name, flag in (("encoder", "-s"), ("judge", "--judge")):
            if not getattr(self, name):
                raise UsageError(f"No {name} is named.", mend=f"Name one with {flag}.")
        if self.limit is not None and self.limit < 1:
            raise UsageError(
                f"The limit is {self.limit}, but at least 1 question is needed.",
                mend="Leave --limit out for all.",
            )

    @property
    def engine(self) -> str:
        """The ranking with the knobs that it has and that its own text does not set."""
        spec, own = ENGINES.parse(self.ranking), self.engine_knobs
        taken = {key: value for key in own if (value := getattr(self.options, key)) is not None}
        return ENGINES.format(replace(spec, params={**taken, **spec.params}))

    @property
    def engine_knobs(self) -> tuple[str, ...]:
        """The knobs of rankings that this one has."""
        known = ENGINES.parameters(ENGINES.parse(self.ranking).name)
        return tuple(name for name in RANKING_KNOBS if name in known)

    def as_dict(self) -> dict[str, Any]:
        """The arguments as saved in the manifest and compared on resume."""
        return {**asdict(self), "mapping": dict(self.mapping)}


def flat(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments with the options among them, as JSON values."""
    plain: dict[str, Any] = json.loads(to_json(dict(arguments)))
    return {**{key: value for key, value in plain.items() if key != "options"}, **plain.get("options", {})}


def check_resumable(folder: RunFolder, request: GoldenRequest, redo: str | None) -> None:
    """UsageError if the folder holds a golden set of other arguments, unless what differs belongs to the stage `redo`
    or a later one, all of which are then done again."""
    manifest = folder.read_manifest()
    if manifest is None:
        if folder.path.exists() and not folder.path.is_dir():
            raise UsageError(f"{folder.path} is a file.", mend="Choose a folder with --out.")
        return
    if (manifest.get("protocol"), manifest.get("kind")) != ("rag", "golden"):
        raise UsageError(f"{folder.path} holds a run of another kind.", mend="Choose another --out.")
    before, now = flat(manifest["arguments"]), flat(request.as_dict())
    differing = [name for name in now if before.get(name) != now[name] and _STAGE_OF.get(name, "S1")]
    stages = [_STAGE_OF.get(name) for name in differing]
    fixed = [name for name in differing if name in FIXED]
    if not differing or (not fixed and redo is not None and all(redo <= (stage or "S6") for stage in stages)):
        return
    name = (fixed or differing)[0]
    others = [other for other in differing if other != name]
    first = min(stage or "S1" for stage in stages)
    raise UsageError(
        f"{folder.path} holds a golden set with other arguments: {name} was {to_json(before.get(name))}, "
        f"now {to_json(now[name])}" + (f" (and {', '.join(others)})." if others else "."),
        mend="Choose another --out, or repeat the old arguments to resume."
        if fixed
        else f"Repeat the old arguments to resume, choose another --out, or add --from-stage {first} to redo that "
        "stage and all later ones with the new ones.",
    )
