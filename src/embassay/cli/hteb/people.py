"""`embassay hteb validate`: people say whether transformed texts are adequate and fluent."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from embassay.cli.options import App, Seed, Wide, declared, default_out, stopping_at_memory
from embassay.protocols.hteb.options import Request, read_transformations

app = App("Have people check the transformed texts.")


@app.callback()
def group() -> None:
    """Have people check the transformed texts."""


@app.command("sample")
@stopping_at_memory
def sample(
    texts: Annotated[Path, typer.Argument(help="A run of `hteb run`, or a folder of `hteb transform`.")],
    transformations: Annotated[list[str] | None, declared(Request, "transformations")] = None,
    dataset: Annotated[list[str] | None, typer.Option("--dataset", "-d", help="Only this dataset.")] = None,
    langs: Annotated[
        list[str] | None,
        typer.Option("--langs", help="Languages of the originals, such as en. Default: all."),
    ] = None,
    pairs: Annotated[int, typer.Option("--pairs", min=1, help="Pairs of every transformation.")] = 100,
    raters: Annotated[int, typer.Option("--raters", min=1, help="Ratings of every pair.")] = 3,
    dummies: Annotated[
        int, typer.Option("--dummies", min=0, help="Pairs per file whose rating is known.")
    ] = 2,
    seed: Seed = 1337,
    out: Annotated[Path | None, typer.Option("--out", help="Folder of the study, new or empty.")] = None,
) -> None:
    """Draw pairs of original and transformed texts for people to rate.

    Example: embassay hteb validate sample runs/hteb --langs en --out study
    """
    from embassay.protocols.hteb.validation import RATERS, draw
    from embassay.protocols.wordings.pairs import Sample
    from embassay.protocols.wordings.sets import ParaphraseSet

    folder = out or default_out("hteb-validate")
    named = [name.strip() for part in langs or () for name in part.split(",") if name.strip()]
    items = draw(
        ParaphraseSet.open(texts), folder, Sample(pairs, dummies, raters, seed),
        transformations=read_transformations(transformations or ()), datasets=tuple(dataset or ()), langs=named,
    )  # fmt: skip
    proper = [item for item in items if not item.is_dummy]
    typer.echo(
        f"{len(proper):,} pairs of {len({item.lang for item in proper})} transformations, "
        f"{2 * raters * len(proper):,} ratings asked for."
    )
    typer.echo(f"Send what is in {folder / RATERS}, and nothing else.")
    typer.echo(f"When the files are back: embassay hteb validate score {folder}")


@app.command("score")
@stopping_at_memory
def score(
    folder: Annotated[Path, typer.Argument(help="The folder that `sample` wrote.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(help="Rating files. Default: those in for-raters.", metavar="[FILE]..."),
    ] = None,
    system: Annotated[
        list[str] | None,
        typer.Option(
            "--system", "-s", metavar="NAME", help="A system, to see if its similarity follows adequacy."
        ),
    ] = None,
    wide: Wide = False,
) -> None:
    """Measure how adequate and fluent people find each transformation.

    Raters who rate a dummy wrong are left out. Agreement is Gwet's AC2.

    Example: embassay hteb validate score study -s minilm
    """
    from embassay.cli.terminal import show_table
    from embassay.protocols.hteb.validation import score, tables

    scored = score(folder, files or (), system or ())
    for table in tables(scored):
        body = table.printed()
        show_table(list(body.heads), [list(row) for row in body.body if not isinstance(row, str)], wide=wide)
        typer.echo("")
    for rater, wrong in scored.rejected.items():
        typer.echo(f"- {rater} left out: rated the dummies {', '.join(wrong)} wrong")
    typer.echo(str(folder / "tables" / "hteb_ratings.md"))
