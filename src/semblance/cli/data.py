"""`semblance data`: what datasets there are, what one holds, and fetching them."""

from __future__ import annotations

import typer

from semblance.cli.options import Json, Wide

app = typer.Typer(
    help="Datasets: what there is, what one holds, fetching them.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.command("list")
def list_datasets(json: Json = False, wide: Wide = False) -> None:
    """List the datasets of the catalogue."""
    from semblance.cli.listing import What, show

    show(What.datasets, json=json, wide=wide)


@app.callback()
def group() -> None:
    """Datasets: what there is, what one holds, fetching them."""
