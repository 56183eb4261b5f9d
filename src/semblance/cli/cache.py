"""`semblance cache`: what the caches of embeddings and answers hold, and emptying them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from semblance.cli.options import Json
from semblance.errors import UsageError

if TYPE_CHECKING:
    from semblance.runs.store import Store

app = typer.Typer(
    help="The caches of embeddings and of language models' answers.", no_args_is_help=True,
    rich_markup_mode=None,
)  # fmt: skip


@app.command("info")
def info(json: Json = False) -> None:
    """Show where the caches are, their size, and what they hold of each encoder and language model."""
    from dataclasses import asdict
    from json import dumps

    from semblance.runs.answer_cache import AnswerCache
    from semblance.runs.embedding_cache import EmbeddingCache

    found, answers = EmbeddingCache.open(None).info(), AnswerCache.open(None).info()
    if json:
        told = {**asdict(found), "path": str(found.path)}
        typer.echo(dumps({**told, "answers": {**asdict(answers), "path": str(answers.path)}}))
        return
    typer.echo(f"{found.path}\n{found.entries:,} chunks, {found.bytes / 1e6:,.1f} MB")
    for name, texts in sorted(found.encoders.items()):
        typer.echo(f"  {texts:>12,} texts  {name}")
    typer.echo(f"{answers.path}\n{answers.entries:,} answers, {answers.bytes / 1e6:,.1f} MB")
    for name, kept in sorted(answers.models.items()):
        typer.echo(f"  {kept:>12,} answers  {name}")


@app.command("clear")
def clear(
    encoder: Annotated[str | None, typer.Option("--encoder", help="Only this encoder's vectors.")] = None,
    llm: Annotated[str | None, typer.Option("--llm", help="Only this language model's answers.")] = None,
) -> None:
    """Empty the caches; runs that are finished keep their results."""
    from semblance.runs.answer_cache import AnswerCache
    from semblance.runs.embedding_cache import EmbeddingCache

    vectors, answers = EmbeddingCache.open(None), AnswerCache.open(None)
    _check_kept("encoder", encoder, vectors)
    _check_kept("llm", llm, answers)
    freed = 0
    if encoder is not None or llm is None:
        freed += vectors.clear(encoder)
    if llm is not None or encoder is None:
        freed += answers.clear(llm)
    typer.echo(f"{freed / 1e6:,.1f} MB freed")


def _check_kept(option: str, name: str | None, cache: Store) -> None:
    """UsageError when nothing is kept of the model."""
    if name is not None and not cache.has_any(name):
        raise UsageError(
            f"The cache holds nothing of {name!r} (--{option}).",
            mend="`semblance cache info` shows what it holds.",
        )
