"""`semblance cache`: what the embedding cache holds, and emptying it."""

from __future__ import annotations

from typing import Annotated

import typer

from semblance.cli.options import Json

app = typer.Typer(help="The embedding cache.", no_args_is_help=True, rich_markup_mode=None)


@app.command("info")
def info(json: Json = False) -> None:
    """Show where the cache is, its size, and what it holds of each encoder."""
    from dataclasses import asdict
    from json import dumps

    from semblance.runs.embedding_cache import EmbeddingCache

    found = EmbeddingCache.open(None).info()
    if json:
        typer.echo(dumps({**asdict(found), "path": str(found.path)}))
        return
    typer.echo(f"{found.path}\n{found.entries:,} chunks, {found.bytes / 1e6:,.1f} MB")
    for name, texts in sorted(found.encoders.items()):
        typer.echo(f"  {texts:>12,} texts  {name}")


@app.command("clear")
def clear(
    encoder: Annotated[str | None, typer.Option("--encoder", help="Only this encoder's vectors.")] = None,
) -> None:
    """Empty the cache; runs that are finished keep their results."""
    from semblance.runs.embedding_cache import EmbeddingCache

    freed = EmbeddingCache.open(None).clear(encoder)
    typer.echo(f"{freed / 1e6:,.1f} MB freed")
