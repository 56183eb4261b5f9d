"""`embassay cache`: what the caches of embeddings, answers, scores, indexes and corpora hold, and emptying them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from embassay.cli.options import App, Json
from embassay.errors import UsageError

if TYPE_CHECKING:
    from embassay.runs.store import Store

app = App("Show or empty the caches.")


@app.command("info")
def info(json: Json = False) -> None:
    """Show where the caches are, their size and what they hold.

    Example: embassay cache info
    """
    from dataclasses import asdict
    from json import dumps

    from embassay.data.documents.conversion import kept_conversions
    from embassay.data.stream.column import kept_corpora
    from embassay.machine import corpus_folder
    from embassay.runs.embeddings import EmbeddingCache
    from embassay.runs.store import AnswerCache, PairCache, index_folder
    from embassay.search.indexes.store import kept_indexes

    indexes = kept_indexes(index_folder())
    found, answers = EmbeddingCache.open(None).info(), AnswerCache.open(None).info()
    pairs, corpora = PairCache.open(None).info(), kept_corpora(corpus_folder())
    documents = kept_conversions()
    if json:
        others: dict[str, Any] = {
            "answers": answers, "pairs": pairs, "indexes": indexes, "corpora": corpora,
            "documents": documents,
        }  # fmt: skip
        told = {name: _plain(asdict(one)) for name, one in others.items()}
        typer.echo(dumps({**_plain(asdict(found)), **told}))
        return
    _show(found, "chunks", "texts", found.encoders)
    _show(answers, "answers", "answers", answers.models)
    _show(pairs, "entries", "scores", pairs.rerankers)
    typer.echo(f"{indexes.path}\n{sum(indexes.kinds.values()):,} indexes, {indexes.bytes / 1e6:,.1f} MB")
    for kind, count in sorted(indexes.kinds.items()):
        typer.echo(f"  {count:>12,} of kind {kind}")
    typer.echo(f"{corpora.path}\n{len(corpora.corpora):,} corpora, {corpora.bytes / 1e6:,.1f} MB")
    for one in corpora.corpora:
        held = "damaged" if one.documents is None else f"{one.documents:,} documents of {one.source}"
        typer.echo(f"  {one.bytes / 1e6:>9,.1f} MB {held}")
    typer.echo(
        f"{documents.path}\n{documents.entries:,} converted documents, {documents.bytes / 1e6:,.1f} MB"
    )


def _plain(about: dict[str, Any]) -> dict[str, Any]:
    return {**about, "path": str(about["path"])}


def _show(found: Any, entries: str, of: str, owners: Any) -> None:
    typer.echo(f"{found.path}\n{found.entries:,} {entries}, {found.bytes / 1e6:,.1f} MB")
    for name, kept in sorted(owners.items()):
        typer.echo(f"  {kept:>12,} {of}  {name}")


@app.command("clear")
def clear(
    encoder: Annotated[str | None, typer.Option("--encoder", help="Only this encoder's vectors.")] = None,
    llm: Annotated[str | None, typer.Option("--llm", help="Only this language model's answers.")] = None,
    reranker: Annotated[str | None, typer.Option("--reranker", help="Only this reranker's scores.")] = None,
    indexes: Annotated[bool, typer.Option("--indexes", help="Only the indexes of sweeps.")] = False,
    corpora: Annotated[bool, typer.Option("--corpora", help="Only the texts of large corpora.")] = False,
    documents: Annotated[bool, typer.Option("--documents", help="Only converted documents.")] = False,
) -> None:
    """Empty the caches; finished runs keep their results.

    Example: embassay cache clear --indexes
    """
    from embassay.data.documents.conversion import clear_conversions
    from embassay.data.stream.column import clear_corpora
    from embassay.machine import corpus_folder
    from embassay.runs.embeddings import EmbeddingCache
    from embassay.runs.store import AnswerCache, PairCache, index_folder
    from embassay.search.indexes.store import clear_indexes

    asked: list[tuple[str, str | None, type[Store]]] = [
        ("encoder", encoder, EmbeddingCache),
        ("llm", llm, AnswerCache),
        ("reranker", reranker, PairCache),
    ]
    chosen = [one for one in asked if one[1] is not None]
    everything = not chosen and not indexes and not corpora and not documents
    if everything:
        chosen = asked
    opened = [(option, name, cache.open(None)) for option, name, cache in chosen]
    for option, name, store in opened:
        _check_kept(option, name, store)
    freed = sum(store.clear(name) for _, name, store in opened)
    if indexes or everything:
        freed += clear_indexes(index_folder())
    if corpora or everything:
        freed += clear_corpora(corpus_folder())
    if documents or everything:
        freed += clear_conversions()
    typer.echo(f"{freed / 1e6:,.1f} MB freed")


def _check_kept(option: str, name: str | None, cache: Store) -> None:
    """UsageError when nothing is kept of the model."""
    if name is not None and not cache.has_any(name):
        raise UsageError(
            f"The cache holds nothing of {name!r} (--{option}).",
            mend="`embassay cache info` shows what it holds.",
        )
