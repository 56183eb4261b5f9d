"""From a request to the cells of a noise probe: a system on a dataset in a language each."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from embassay.data.shapes import check_targets
from embassay.protocols.forecasting import Work
from embassay.protocols.planning import PlannedDataset, PlannedTask, check_names
from embassay.protocols.rag.probes.noise import work
from embassay.protocols.rag.probes.noise.levels import Lang
from embassay.protocols.rag.probes.noise.outcome import TASK
from embassay.protocols.rag.probes.noise.questions import langs_of, questions
from embassay.protocols.rag.probes.noise.request import VERSION, NoiseRequest
from embassay.protocols.rag.probes.plan import Plan, cell_key, cell_of, effort_of, systems_of
from embassay.protocols.rag.rewriting import open_rewriter
from embassay.runs.rehearsal import Hear
from embassay.systems.remote import Ledger
from embassay.text import open_tokenizer


def plan_noise(
    request: NoiseRequest, folder: Path, cache: Path | None = None, ledger: Ledger | None = None
) -> Plan:
    """The plan of a noise probe; rewritings are kept in `folder`. Errors as for names; UsageError also for a dataset in
    neither language."""
    check_targets(dict(request.mapping))
    tokenizer = open_tokenizer(request.tokenizer)
    systems = systems_of(request, tokenizer, ledger)
    opened = [
        open_rewriter(one, ledger=ledger, seed=request.seed) for one in dict.fromkeys(request.rewriters)
    ]
    rewriters = {one.name: one.identity for one in opened}
    datasets, cells, efforts = [], [], []
    for source in dict.fromkeys(request.datasets):
        for lang in langs_of(request, source):
            own = questions(request, source, lang)
            units = len(own) * (1 + 4 * request.runs) * (1 + len(rewriters)) + len(own.corpus)
            planned = PlannedTask(TASK, len(own), units, own.skipped, own.warnings)
            datasets.append(PlannedDataset(source, own.dataset, lang, own.fingerprint, (planned,)))
            for system in systems:
                key = cell_key(
                    TASK,
                    VERSION,
                    system,
                    own.fingerprint,
                    tokenizer,
                    request,
                    rewriters,
                )
                job = work.Job(system.spec, source, lang, request, rewriters, folder, cache)
                cells.append(cell_of(TASK, own.dataset, system, key, units, job))
            efforts.append(partial(_effort, request, source, lang, units))
    check_names(one.name for one in datasets)
    return Plan(
        TASK, request, systems, tuple(datasets), tuple(cells), tokenizer.identity, tuple(efforts), cache,
        tuple(opened),
    )  # fmt: skip


def _effort(request: NoiseRequest, source: str, lang: Lang, units: int) -> Work:
    def rehearse(hear: Hear) -> bool:
        return work.rehearse(request, source, lang, hear)

    own = questions(request, source, lang)
    wordings = units - len(own.corpus)
    effort = effort_of(TASK, own.dataset, len(own), own.corpus, rehearse, wordings)
    # A rewriting is a text that nobody has yet: each is counted as long as the question.
    return Work(
        effort.task,
        effort.dataset,
        effort.items,
        units,
        effort.tokens,
        rehearse,
        own.corpus,
        own.texts,
        "search",
        footprint=partial(work.needed, request, source, lang),
    )
