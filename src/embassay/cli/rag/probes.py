"""`embassay rag probe`: two cheap diagnostics of a system: names, and small talk."""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli import options as given
from embassay.cli.options import App, column_map, default_out, within_memory

if TYPE_CHECKING:
    from embassay.cli.session import Display
    from embassay.protocols.rag.probes.plan import NamesRequest, NoiseRequest

app = App("Probe why retrieval fails: on names, or on small talk.")


class Lang(StrEnum):
    """Languages that the probes have texts in."""

    en = "en"
    fr = "fr"


class Reference(StrEnum):
    """What a noisy question is compared with."""

    auto = "auto"
    need = "need"
    passage = "passage"


Langs = Annotated[
    list[Lang] | None,
    typer.Option("--lang", help="Language. Default: both, or those of the data."),
]
Conditions = Annotated[
    list[str] | None,
    typer.Option("--condition", help="An ablation, such as gibberish_name. Default: all ten."),
]
People = Annotated[
    Path | None, typer.Option("--people", help="Your authors: a table with columns given and family.")
]
Topics = Annotated[
    Path | None,
    typer.Option("--topics", help="Your topics: a table with a column topic, or a .txt file."),
]
Queries = Annotated[
    int, typer.Option("--queries", min=1, help="Queries per language made of authors and topics.")
]
Runs = Annotated[int, typer.Option("--runs", min=1, help="Draws of impostors and forms, or of small talk.")]
Resamples = Annotated[int, typer.Option("--resamples", min=1, help="Bootstrap resamples of the queries.")]
Limit = Annotated[int | None, typer.Option("--limit", min=1, help="Most queries.")]
Rewriters = Annotated[
    list[str] | None,
    typer.Option(
        "--rewriter",
        help="Rewriter of noisy questions: rules (default), identity or llm:MODEL.",
    ),
]
Datasets = Annotated[
    list[str] | None,
    typer.Option(
        "--dataset",
        "-d",
        help="bundled (default), a catalogue name or a path.",
    ),
]


@app.callback()
def group() -> None:
    """Probe why retrieval fails: on names, or on small talk."""


@app.command("names")
@within_memory
def names(
    system: given.Systems,
    lang: Langs = None,
    condition: Conditions = None,
    people: People = None,
    topics: Topics = None,
    queries: Queries = 100,
    runs: Runs = 15,
    limit: Limit = None,
    seed: given.Seed = 1337,
    tokenizer: given.TokenizerName = "cl100k",
    resamples: Resamples = 10_000,
    out: given.Out = None,
    workers: given.Workers = 1,
    engine: given.Engine = given.EngineName.local,
    address: given.Address = None,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
) -> None:
    """Does similarity tell the right author from impostors?

    One right passage among impostors, under a base condition and ten ablations such as a masked, misspelt or
    unlabelled author.

    Example: embassay rag probe names -s minilm
    """
    from embassay.cli.session import Display
    from embassay.protocols.rag.probes.plan import LANGS, NamesRequest

    request = NamesRequest(
        tuple(system), tuple(one.value for one in lang or ()) or LANGS, tuple(condition or ()), _text(people),
        _text(topics), queries, runs, limit, seed, tokenizer, resamples,
    )  # fmt: skip
    who = None if dry_run else given.crew(workers, engine, address)
    _run(request, out or default_out("names"), Display(json, wide), dry_run, workers=who, max_usd=max_cost)


@app.command("noise")
@within_memory
def noise(
    system: given.Systems,
    dataset: Datasets = None,
    lang: Langs = None,
    rewriter: Rewriters = None,
    reference: Annotated[
        Reference,
        typer.Option("--reference", help="Compare with the plain question, or with the best passage."),
    ] = Reference.auto,
    mapping: given.Mapping = None,
    split: given.Split = None,
    grades: given.Grades = None,
    people: People = None,
    topics: Topics = None,
    queries: Queries = 100,
    runs: Runs = 3,
    limit: Limit = None,
    seed: given.Seed = 1337,
    tokenizer: given.TokenizerName = "cl100k",
    resamples: Resamples = 10_000,
    out: given.Out = None,
    workers: given.Workers = 1,
    engine: given.Engine = given.EngineName.local,
    address: given.Address = None,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
) -> None:
    """Does small talk around a question change what is retrieved?

    Five levels of greetings, filler, politeness and hedging around an unchanged question, before and after
    rewriting.

    Example: embassay rag probe noise -s minilm --rewriter rules
    """
    from embassay.cli.session import Display
    from embassay.protocols.rag.probes.plan import BUNDLED, NoiseRequest

    request = NoiseRequest(
        tuple(system), tuple(dataset or (BUNDLED,)), tuple(one.value for one in lang or ()),
        tuple(rewriter or ("rules",)), reference.value, tuple(sorted(column_map(mapping).items())), split, grades,
        _text(people), _text(topics), queries, runs, limit, seed, tokenizer, resamples,
    )  # fmt: skip
    who = None if dry_run else given.crew(workers, engine, address)
    _run(request, out or default_out("noise"), Display(json, wide), dry_run, workers=who, max_usd=max_cost)


def _run(
    request: NamesRequest | NoiseRequest, out: Path, display: Display, dry_run: bool, **arguments: Any
) -> None:
    if dry_run:
        plan_probe(request, out, display)
    else:
        run_probe(request, out, display, **arguments)


def run_probe(
    request: NamesRequest | NoiseRequest,
    out: Path,
    display: Display,
    *,
    report: bool = True,
    **arguments: Any,
) -> None:
    """Carry out a request."""
    from embassay.cli.session import carry_out, show_run
    from embassay.protocols.rag.probes.protocol import Probe
    from embassay.report.rag.probes import probe_view

    do = partial(Probe().carry_out, request)
    show = partial(show_run, view=lambda run, _: probe_view(run))
    carry_out(do, out, display=display, report=report, show=show, **arguments)


def plan_probe(request: NamesRequest | NoiseRequest, out: Path, display: Display) -> None:
    """Show what a request would take."""
    from embassay.cli.session import show_plan
    from embassay.protocols.rag.probes.protocol import Probe

    show_plan(partial(Probe().foreseen, request, out=out), display)


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
