"""`embassay hteb transform`, `import` and `export`: transformed texts without scores, and the authors' files."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from embassay.cli import options as given
from embassay.cli.hteb.scores import Names, Reference, Runs, TransformerName
from embassay.cli.options import column_map, default_out, settings
from embassay.protocols.hteb.options import HtebOptions, TransformOptions

Generator = Annotated[
    str, typer.Option("--generator", metavar="ORG/MODEL", help="The model, as its hub calls it.")
]
Root = Annotated[Path, typer.Option("--out", help="The folder above the generators' folders.")]


@settings(TransformOptions, "generation")
@settings(HtebOptions)
def transform(
    transformer: TransformerName,
    transformations: Names = "",
    task: given.Tasks = None,
    dataset: given.Datasets = None,
    mapping: given.Mapping = None,
    split: given.Split = None,
    limit: given.Limit = None,
    runs: Runs = 3,
    seed: given.Seed = 1337,
    reference: Reference = False,
    out: given.Out = None,
    max_cost: given.MaxCost = None,
    dry_run: given.DryRun = False,
    json: given.Json = False,
    wide: given.Wide = False,
    options: HtebOptions = HtebOptions(),  # noqa: B008 - replaced by `settings`
    generation: TransformOptions = TransformOptions(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Have texts transformed, and score nothing.

    `embassay hteb run --transformer stored:FOLDER` scores systems on them; `hteb export` writes them as the authors do.

    Example: embassay hteb transform --transformer ollama:gemma3:27b -d sample
    """
    from embassay.cli.progress import listener
    from embassay.cli.session import Display, show_plan, stopping
    from embassay.protocols.hteb.options import Request, as_reference, read_transformations
    from embassay.protocols.hteb.protocol import transform, transform_forecast
    from embassay.protocols.kernel.session import accounts
    from embassay.runs.folder import RunFolder

    request = Request(
        (), tuple(task or ()), tuple(dataset or ("sample",)), column_map(mapping), split, None, limit, seed,
        transformer=transformer, transformations=read_transformations(transformations), runs=runs,
        generation=as_reference(generation) if reference else generation,
        options=as_reference(options) if reference else options,
    )  # fmt: skip
    if dry_run:
        show_plan(partial(transform_forecast, request), Display(json, wide))
        return
    folder = out or default_out("hteb-texts")
    command = shlex.join(["embassay", *sys.argv[1:]])
    command = command if "--out" in command else f"{command} --out {shlex.quote(str(folder))}"
    heard = listener()
    kept_in = f"Finished work is kept in {folder}."
    with stopping(kept_in, command), RunFolder(folder).locked(), accounts(folder, max_cost) as ledger:
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


@settings(HtebOptions)
def export(
    texts: Annotated[Path, typer.Argument(help="A run of `hteb run`, or a folder of `hteb transform`.")],
    out: Root,
    task: given.Tasks = None,
    dataset: given.Datasets = None,
    mapping: given.Mapping = None,
    split: given.Split = None,
    limit: given.Limit = None,
    seed: given.Seed = 1337,
    generator: Generator = "",
    date: Annotated[
        str,
        typer.Option(
            "--date", metavar="TIME", help="When it was generated: 2026-09-15T12:01:47Z. Default: none."
        ),
    ] = "",
    options: HtebOptions = HtebOptions(),  # noqa: B008 - replaced by `settings`
) -> None:
    """Write transformed texts in the layout of the authors' code.

    Give the data as they were given when the texts were made.

    Example: embassay hteb export runs/hteb -d sample -t sts --out transformations
    """
    from embassay.protocols.hteb.exchange import export
    from embassay.protocols.hteb.options import Request
    from embassay.protocols.wordings.sets import ParaphraseSet

    request = Request(
        (), tuple(task or ()), tuple(dataset or ("sample",)), column_map(mapping), split, None, limit, seed,
        options=options,
    )  # fmt: skip
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
