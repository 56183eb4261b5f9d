"""`semblance cache`: what the caches of embeddings, answers and scores hold, and emptying them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from semblance.cli.options import Json
from semblance.errors import UsageError

if TYPE_CHECKING:
    from semblance.runs.store import Store

app = typer.Typer(
    help="The caches of embeddings, of language models' answers and of rerankers' scores.",
    no_args_is_help=True, rich_markup_mode=None,
)  # fmt: skip


@app.command("info")
def info(json: Json = False) -> None:
    """Show where the caches are, their size, and what they hold of each encoder, language model and reranker."""
    from dataclasses import asdict
    from json import dumps

    from semblance.runs.answer_cache import AnswerCache
    from semblance.runs.embedding_cache import EmbeddingCache
    from semblance.runs.pair_cache import PairCache

    found, answers = EmbeddingCache.open(None).info(), AnswerCache.open(None).info()
    pairs = PairCache.open(None).info()
    if json:
        told, *others = ({**asdict(one), "path": str(one.path)} for one in (found, answers, pairs))
        typer.echo(dumps({**told, "answers": others[0], "pairs": others[1]}))
        return
    _show(found, "chunks", "texts", found.encoders)
    _show(answers, "answers", "answers", answers.models)
    _show(pairs, "entries", "scores", pairs.rerankers)


def _show(found: Any, entries: str, of: str, owners: Any) -> None:
    typer.echo(f"{found.path}\n{found.entries:,} {entries}, {found.bytes / 1e6:,.1f} MB")
    for name, kept in sorted(owners.items()):
        typer.echo(f"  {kept:>12,} {of}  {name}")


@app.command("clear")
def clear(
    encoder: Annotated[str | None, typer.Option("--encoder", help="Only this encoder's vectors.")] = None,
    llm: Annotated[str | None, typer.Option("--llm", help="Only this language model's answers.")] = None,
    reranker: Annotated[str | None, typer.Option("--reranker", help="Only this reranker's scores.")] = None,
) -> None:
    """Empty the caches; runs that are finished keep their results."""
    from semblance.runs.answer_cache import AnswerCache
    from semblance.runs.embedding_cache import EmbeddingCache
    from semblance.runs.pair_cache import PairCache

    asked: list[tuple[str, str | None, type[Store]]] = [
        ("encoder", encoder, EmbeddingCache),
        ("llm", llm, AnswerCache),
        ("reranker", reranker, PairCache),
    ]
    chosen = [one for one in asked if one[1] is not None] or asked
    opened = [(option, name, cache.open(None)) for option, name, cache in chosen]
    for option, name, store in opened:
        _check_kept(option, name, store)
    freed = sum(store.clear(name) for _, name, store in opened)
    typer.echo(f"{freed / 1e6:,.1f} MB freed")


def _check_kept(option: str, name: str | None, cache: Store) -> None:
    """UsageError when nothing is kept of the model."""
    if name is not None and not cache.has_any(name):
        raise UsageError(
            f"The cache holds nothing of {name!r} (--{option}).",
            mend="`semblance cache info` shows what it holds.",
        )
