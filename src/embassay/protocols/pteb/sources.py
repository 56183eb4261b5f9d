"""Where a run's wordings come from: each paraphraser with each prompt."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from embassay.errors import UsageError
from embassay.protocols.pteb.paraphrasing.controls import Permuted
from embassay.protocols.pteb.paraphrasing.paraphrasers import open_paraphraser
from embassay.protocols.pteb.paraphrasing.prompts import Prompt, open_prompt
from embassay.protocols.pteb.paraphrasing.records import Paraphraser
from embassay.protocols.pteb.request import Request
from embassay.protocols.pteb.summary.layout import CONTROLS
from embassay.records import Paraphrases
from embassay.systems.remote import Ledger

CONTROL = "permuted"


@dataclass(frozen=True)
class Source:
    """A paraphraser with a prompt. `label` tells several sources of a run apart (`by=NAME`, `prompt=NAME`); `name` is
    what the run's set of paraphrases calls it."""

    label: str
    name: str
    paraphraser: Paraphraser
    prompt: Prompt

    @property
    def is_control(self) -> bool:
        """Whether it stands beside the others, and is no part of the mean over sources."""
        return self.paraphraser.name.partition(":")[0] in CONTROLS

    def variant(self, seed: int) -> str:
        """The variant of the cells of one run: `paraphrase:seed=1337`, `paraphrase:by=NAME,seed=1337`."""
        return "paraphrase:" + ",".join(filter(None, (self.label, f"seed={seed}")))

    def seeds(self, dataset: str, runs: int, request: Request) -> tuple[int, ...]:
        """The seeds of the runs on a dataset. UsageError when the paraphraser has fewer."""
        seeds = self.paraphraser.seeds(runs, request.seed, dataset=dataset)
        last = dict(request.last_seeds).get(dataset)
        return (
            seeds
            if last is None or runs < request.runs
            else (*seeds[: request.runs - 1], last, *seeds[request.runs :])
        )


def open_sources(
    request: Request,
    recorded: Mapping[str, Paraphrases],
    longest: int,
    *,
    ledger: Ledger | None = None,
) -> tuple[Source, ...]:
    """Every paraphraser with every prompt, opened. `longest` is the bytes of the longest text. UsageError for names
    that are unknown or given twice."""
    prompts = [open_prompt(name) for name in request.prompts]
    _check_distinct("paraphraser", (*request.paraphrasers, *([CONTROL] if request.control else [])))
    _check_distinct("prompt", [prompt.name for prompt in prompts])
    found = []
    for text in request.paraphrasers:
        for prompt in prompts:
            paraphraser = open_paraphraser(
                text, prompt=prompt, generation=request.generation, ledger=ledger,
                recorded=recorded, longest=longest,
            )  # fmt: skip
            parts = [f"by={paraphraser.name}"] if len(request.paraphrasers) > 1 else []
            parts += [f"prompt={prompt.name}"] if len(prompts) > 1 else []
            name = paraphraser.name if len(prompts) == 1 else f"{paraphraser.name} {prompt.name}"
            found.append(Source(",".join(parts), name, paraphraser, prompt))
    if request.control:
        found.append(Source(f"by={CONTROL}", CONTROL, Permuted(CONTROL, found[0].paraphraser), prompts[0]))
    return tuple(found)


def _check_distinct(what: str, names: Sequence[str]) -> None:
    for name in names:
        if list(names).count(name) > 1:
            raise UsageError(f"The {what} {name!r} is named twice.", mend="Name each once.")
