"""`embassay hteb`: benchmark scores after eight transformations on three axes: systems on texts that were rewritten,
the texts without scores, the files of the authors, and what people say of the texts."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from embassay.cli.options import (
    PrintOptions,
    RatingFiles,
    RunOptions,
    StudyFolder,
    TitledCommandApp,
    WorkerOptions,
    add_memory_option,
    add_options_from_record_parameters,
    make_default_run_folder,
    stopping_at_memory,
)
from embassay.cli.session import (
    StdoutFormatOptions,
    add_out_to_command,
    run_or_plan_protocol,
    show_run_plan,
    stop_on_signal,
)
from embassay.cli.terminal import format_command_line, print_table_to_fit_screen
from embassay.protocols.hteb.options import HtebRequest, set_options_to_reference
from embassay.protocols.kernel.request import DATA, OUTPUT, option, redeclare_option, split_comma_separated_names
from embassay.protocols.wordings.sets import ParaphraseSet

app = TitledCommandApp("HTEB: how far scores drop under eight transformations on three axes.")
validation = TitledCommandApp("Have people check the transformed texts.")


@app.callback()
def group() -> None:
    """HTEB: how far scores drop under eight transformations on three axes."""


Reference = Annotated[
    bool, typer.Option("--reference", help="Set every option to `reference`, as in the authors' code.")
]


def set_options_to_reference_values(request: HtebRequest) -> HtebRequest:
    """A request with every option at its value `reference`."""
    return replace(
        request,
        options=set_options_to_reference(request.options),
        generation=set_options_to_reference(request.generation),
        on_failure="original",
    )


@app.command("run")
@add_memory_option
@add_options_from_record_parameters(defaults={"transformer": ...})
def run(request: HtebRequest, running: WorkerOptions, reference: Reference = False) -> None:
    """Score systems on original texts and on eight transformations.

    Axes: wording and style, length, language. The texts are kept in the run; `--transformer stored:FOLDER` reuses them.

    Example: embassay hteb run -s minilm --transformer ollama:gemma3:27b --limit 50
    """
    from embassay.protocols.hteb.protocol import HtebProtocol

    run_or_plan_protocol(
        HtebProtocol(), set_options_to_reference_values(request) if reference else request, running, "hteb"
    )


Generator = Annotated[str, typer.Option("--generator", metavar="ORG/MODEL", help="The model's name on its hub.")]
Texts = Annotated[Path, typer.Argument(help="A run from `hteb run`, or a folder from `hteb transform`.")]
Root = Annotated[Path, typer.Option("--out", help="The folder that contains the generators' folders.")]


OF_SCORES = {
    "grades", "tokenizer", "until_ci", "max_runs", "baseline", "on_failure", "exclude_copied", "last_seeds", "families"
}  # fmt: skip
"""What can be told a run, and means nothing for texts alone."""


@app.command("transform")
@stopping_at_memory
@add_options_from_record_parameters(systems=(), without=OF_SCORES, defaults={"transformer": ...})
def transform(request: HtebRequest, running: RunOptions, reference: Reference = False) -> None:
    """Transform texts without scoring systems.

    `embassay hteb run --transformer stored:FOLDER` scores systems on the texts. `hteb export` writes them in the
    layout of the authors' code.

    Example: embassay hteb transform --transformer ollama:gemma3:27b -d sample
    """
    from embassay.cli.progress import make_progress_listener
    from embassay.protocols.hteb.protocol import forecast_transform_cost, transform
    from embassay.protocols.kernel.session import open_spending_ledger
    from embassay.runs.folder import RunFolder

    request = set_options_to_reference_values(request) if reference else request
    json, wide = running.json, running.wide
    if running.dry_run:
        show_run_plan(partial(forecast_transform_cost, request), StdoutFormatOptions(json, wide))
        return
    folder = running.out or make_default_run_folder("hteb-texts")
    command = add_out_to_command(format_command_line(), folder)
    heard = make_progress_listener()
    kept_in = f"Finished work is kept in {folder}."
    with (
        stop_on_signal(kept_in, command),
        RunFolder(folder).hold_folder_lock(),
        open_spending_ledger(folder, running.max_cost) as ledger,
    ):
        try:
            texts = transform(request, folder, ledger=ledger, listener=heard)
        finally:
            getattr(heard, "stop", lambda: None)()
    _show_transformed_counts(texts, json, wide)
    typer.echo(f"\nScore systems on them: embassay hteb run -s NAME --transformer stored:{folder}", err=True)


def _show_transformed_counts(kept: object, json: bool, wide: bool) -> None:

    assert isinstance(kept, ParaphraseSet)
    rows = [
        (name, dataset, seed, counts)
        for name in kept.sources
        for dataset, by_seed in kept.count_outcomes_by_dataset_and_seed(name).items()
        for seed, counts in by_seed.items()
    ]
    if json:
        from json import dumps

        keys = ("transformation", "dataset", "seed", "outcomes")
        typer.echo(dumps([dict(zip(keys, row, strict=True)) for row in rows]))
        return
    heads = ["Transformation", "Dataset", "Seed", "Texts", "Unchanged", "Failed"]
    shown = [
        [name, dataset, str(seed), f"{sum(outcomes.values()):,}", f"{outcomes.get('copied', 0):,}",
         f"{sum(n for outcome, n in outcomes.items() if outcome not in ('ok', 'copied')):,}"]
        for name, dataset, seed, outcomes in rows
    ]  # fmt: skip
    print_table_to_fit_screen(heads, shown, wide=wide, numbers=True)


@app.command("import")
@stopping_at_memory
def import_(
    root: Annotated[Path, typer.Argument(metavar="DIR", help="The folder that contains the generators' folders.")],
    out: Annotated[Path, typer.Option("--out", help="New or empty folder for the set.")],
    generator: Generator = "",
    dataset: Annotated[
        list[str] | None, typer.Option("--dataset", "-d", metavar="NAME", help="Only these datasets.")
    ] = None,
) -> None:
    """Read transformed texts in the layout of the authors' code.

    Example: embassay hteb import transformations --out texts
    """
    from embassay.protocols.hteb.exchange import import_reference_transformation_files

    imported = import_reference_transformation_files(root, out, generator=generator, datasets=tuple(dataset or ()))
    for (name, of, seed), (texts, failed) in imported.texts.items():
        typer.echo(f"{name} of {of}, seed {seed}: {texts:,} texts, {failed:,} failed")
    typer.echo(f"\nScore systems on them: embassay hteb run -s NAME --transformer stored:{out}", err=True)


@app.command("export")
@stopping_at_memory
@add_options_from_record_parameters(
    systems=(), without={*OF_SCORES, "runs", "transformer", "transformations", "generation"}
)
def export(
    texts: Texts,
    out: Root,
    request: HtebRequest,
    generator: Generator = "",
    date: Annotated[
        str,
        typer.Option("--date", metavar="TIME", help="Time of generation, such as 2026-09-15T12:01:47Z. Default: none."),
    ] = "",
) -> None:
    """Write transformed texts in the layout of the authors' code.

    Use the same data that the texts were made from.

    Example: embassay hteb export runs/hteb -d sample -t sts --out transformations
    """
    from embassay.protocols.hteb.exchange import export

    for layout in export(ParaphraseSet.open(texts), request, out, generator=generator, date=date):
        counts = layout.statistics
        typer.echo(
            f"{layout.path}: {counts['text_fields_total']:,} texts, {counts['unchanged_outputs']:,} unchanged, "
            f"{counts['text_fields_with_fallback']:,} failed"
        )


@validation.callback()
def people() -> None:
    """Have people check the transformed texts."""


@dataclass(frozen=True)
class PairRatingSampleOptions:
    """Options for which pairs people rate, and where they are written."""

    transformations: tuple[str, ...] = redeclare_option(HtebRequest, "transformations")
    datasets: tuple[str, ...] = redeclare_option(HtebRequest, "datasets", default=(), help="Only this dataset.")
    langs: tuple[str, ...] = option(
        (), "Languages of the originals, such as en. Default: all.", read=split_comma_separated_names, group=DATA
    )
    pairs: int = option(100, "Pairs per transformation.", least=1, group=DATA)
    raters: int = option(3, "Ratings per pair.", least=1)
    dummies: int = option(2, "Number of dummy pairs, whose rating is known, in each file.", least=0)
    seed: int = redeclare_option(HtebRequest, "seed")
    out: Path | None = option(None, "New or empty folder for the study.", group=OUTPUT)


@validation.command("sample")
@stopping_at_memory
@add_options_from_record_parameters()
def sample(texts: Texts, drawing: PairRatingSampleOptions) -> None:
    """Draw pairs of original and transformed texts for people to rate.

    Example: embassay hteb validate sample runs/hteb --langs en --out study
    """
    from embassay.protocols.hteb.validation import RATERS, draw_rating_study
    from embassay.protocols.wordings.pairs import PairSampleSize

    folder, raters = drawing.out or make_default_run_folder("hteb-validate"), drawing.raters
    items = draw_rating_study(
        ParaphraseSet.open(texts), folder, PairSampleSize(drawing.pairs, drawing.dummies, raters, drawing.seed),
        transformations=drawing.transformations, datasets=drawing.datasets, langs=drawing.langs
    )  # fmt: skip
    proper = [item for item in items if not item.is_dummy]
    typer.echo(
        f"{len(proper):,} pairs from {len({item.lang for item in proper})} transformations; "
        f"{2 * raters * len(proper):,} ratings are needed."
    )
    typer.echo(f"Send only the files in {folder / RATERS}.")
    typer.echo(f"When the files are back, run: embassay hteb validate score {folder}")


@validation.command("score")
@stopping_at_memory
@add_options_from_record_parameters(json=False)
def score(
    folder: StudyFolder,
    files: RatingFiles = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system",
            "-s",
            metavar="NAME",
            help="Also test whether this system's similarity follows the adequacy ratings.",
        ),
    ] = None,
    *,
    shown: PrintOptions,
) -> None:
    """Measure how adequate and fluent people find each transformation.

    Raters who misjudge a dummy pair are left out. Agreement is Gwet's AC2.

    Example: embassay hteb validate score study -s minilm
    """
    from embassay.protocols.hteb.validation import make_validation_tables, score_rating_study

    scored = score_rating_study(folder, files or (), system or ())
    for table in make_validation_tables(scored):
        body = table.format_table_for_printing()
        print_table_to_fit_screen(
            list(body.heads), [list(row) for row in body.body if not isinstance(row, str)], wide=shown.wide
        )
        typer.echo("")
    for rater, wrong in scored.rejected.items():
        typer.echo(f"- {rater} is left out for wrong ratings of the dummies {', '.join(wrong)}")
    typer.echo(str(folder / "tables" / "hteb_ratings.md"))


app.add_typer(validation, name="validate")
