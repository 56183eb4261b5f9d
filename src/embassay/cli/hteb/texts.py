"""`embassay hteb run`, `transform`, `import` and `export`: systems on texts that were rewritten in eight ways, the
texts without scores, and the files of the authors."""

from __future__ import annotations

import shlex
import sys
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from embassay.cli.options import Running, Spread, default_out, of_records
from embassay.protocols.hteb.options import Request, as_reference

Reference = Annotated[
    bool,
    typer.Option(
        "--reference", help="Set every option to its value `reference`, as the authors' code has it."
    ),
]


def of_authors(request: Request) -> Request:
    """A request with every option at its value `reference`."""
    return replace(
        request, options=as_reference(request.options), generation=as_reference(request.generation),
        on_failure="original",
    )  # fmt: skip


@of_records(defaults={"transformer": ...})
def run(request: Request, running: Spread, reference: Reference = False) -> None:
    """Score systems on texts as they are and rewritten in eight ways.

    Axes: wording and style, length, language. The texts stay in the run: `--transformer stored:FOLDER` replays them.

    Example: embassay hteb run -s minilm --transformer ollama:gemma3:27b --limit 50
    """
    from embassay.cli.session import do
    from embassay.protocols.hteb.protocol import Hteb

    do(Hteb(), of_authors(request) if reference else request, running, "hteb")


Generator = Annotated[
    str, typer.Option("--generator", metavar="ORG/MODEL", help="The model, as its hub calls it.")
]
Root = Annotated[Path, typer.Option("--out", help="The folder above the generators' folders.")]


OF_SCORES = {
    "grades", "tokenizer", "until_ci", "max_runs", "baseline", "on_failure", "exclude_copied", "last_seeds", "families",
}  # fmt: skip
"""What can be told a run, and means nothing for texts alone."""


@of_records(systems=(), without=OF_SCORES, defaults={"transformer": ...})
def transform(request: Request, running: Running, reference: Reference = False) -> None:
    """Have texts transformed, and score nothing.

    `embassay hteb run --transformer stored:FOLDER` scores systems on them; `hteb export` writes them as the authors do.

    Example: embassay hteb transform --transformer ollama:gemma3:27b -d sample
    """
    from embassay.cli.progress import listener
    from embassay.cli.session import Display, show_plan, stopping
    from embassay.protocols.hteb.protocol import transform, transform_forecast
    from embassay.protocols.kernel.session import accounts
    from embassay.runs.folder import RunFolder

    request = of_authors(request) if reference else request
    json, wide = running.json, running.wide
    if running.dry_run:
        show_plan(partial(transform_forecast, request), Display(json, wide))
        return
    folder = running.out or default_out("hteb-texts")
    command = shlex.join(["embassay", *sys.argv[1:]])
    command = command if "--out" in command else f"{command} --out {shlex.quote(str(folder))}"
    heard = listener()
    kept_in = f"What is finished is kept in {folder}."
    with stopping(kept_in, command), RunFolder(folder).locked(), accounts(folder, running.max_cost) as ledger:
        try:
            kept = transform(request, folder, ledger=ledger, listener=heard)
        finally:
            getattr(heard, "stop", lambda: None)()
    _show_counts(kept, json, wide)
    typer.echo(f"\nScore systems on them: embassay hteb run -s NAME --transformer stored:{folder}", err=True)


def _show_counts(kept: object, json: bool, wide: bool) -> None:
    from embassay.cli.terminal import show_table
    from embassay.protocols.wordings.sets import ParaphraseSet

    assert isinstance(kept, ParaphraseSet)
    rows = [
        (name, dataset, seed, counts)
        for name in kept.sources
        for dataset, by_seed in kept.outcomes(name).items()
        for seed, counts in by_seed.items()
    ]
    if json:
        from json import dumps

        keys = ("transformation", "dataset", "seed", "outcomes")
        typer.echo(dumps([dict(zip(keys, row, strict=True)) for row in rows]))
        return
    heads = ["Transformation", "Dataset", "Seed", "Texts", "Unchanged", "Failed"]
    shown = [
        [name, dataset, str(seed), f"{sum(one.values()):,}", f"{one.get('copied', 0):,}",
         f"{sum(n for what, n in one.items() if what not in ('ok', 'copied')):,}"]
        for name, dataset, seed, one in rows
    ]  # fmt: skip
    show_table(heads, shown, wide=wide, numbers=True)


@of_records(systems=(), without={*OF_SCORES, "runs", "transformer", "transformations", "generation"})
def export(
    texts: Annotated[Path, typer.Argument(help="A run of `hteb run`, or a folder of `hteb transform`.")],
    out: Root,
    request: Request,
    generator: Generator = "",
    date: Annotated[
        str,
        typer.Option(
            "--date", metavar="TIME", help="When it was generated: 2026-09-15T12:01:47Z. Default: none."
        ),
    ] = "",
) -> None:
    """Write transformed texts in the layout of the authors' code.

    Give the data as they were given when the texts were made.

    Example: embassay hteb export runs/hteb -d sample -t sts --out transformations
    """
    from embassay.protocols.hteb.exchange import export
    from embassay.protocols.wordings.sets import ParaphraseSet

    for one in export(ParaphraseSet.open(texts), request, out, generator=generator, date=date):
        told = one.statistics
        typer.echo(
            f"{one.path}: {told['text_fields_total']:,} texts, {told['unchanged_outputs']:,} unchanged, "
            f"{told['text_fields_with_fallback']:,} failed"
        )


def import_(
    root: Annotated[Path, typer.Argument(metavar="DIR", help="The folder above the generators' folders.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of the set, new or empty.")],
    generator: Generator = "",
    dataset: Annotated[
        list[str] | None, typer.Option("--dataset", "-d", metavar="NAME", help="Only these datasets.")
    ] = None,
) -> None:
    """Read transformed texts in the layout of the authors' code.

    Example: embassay hteb import transformations --out texts
    """
    from embassay.protocols.hteb.exchange import import_

    found = import_(root, out, generator=generator, datasets=tuple(dataset or ()))
    for (name, of, seed), (texts, failed) in found.texts.items():
        typer.echo(f"{name} of {of}, seed {seed}: {texts:,} texts, {failed:,} failed")
    typer.echo(f"\nScore systems on them: embassay hteb run -s NAME --transformer stored:{out}", err=True)
