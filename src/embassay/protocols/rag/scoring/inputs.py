"""Judgements, runs and pools, read and named: what a scoring starts from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from embassay.data.judged_runs import Entries, entries_of, read_qrels, read_run
from embassay.errors import UsageError
from embassay.protocols.rag.scoring.request import ScoreRequest, named_path, stem

Given = str | Path | Mapping[str, Any]
"""A file, or query -> documents in memory; a polars frame too."""


@dataclass(frozen=True)
class Inputs:
    """`runs` by name, in the order given; `pools` as many, None where a run's own list is its pool."""

    name: str
    qrels: Entries
    runs: Mapping[str, Entries]
    pools: tuple[Entries | None, ...]


def read_inputs(request: ScoreRequest) -> Inputs:
    """The files of a request, each read once. UsageError for two runs of one name or a mapping that no file has."""
    named = distinct([named_path(given) for given in request.runs])
    qrels_path = Path(request.qrels).expanduser()
    if any(path == qrels_path for _, path in named):
        raise UsageError(
            f"{request.qrels} is given as the judgements and as a run.", mend="Give --run what was retrieved."
        )
    qrels = read_qrels(qrels_path, request.mapping, split=request.split)
    read: dict[Path, Entries] = {}
    for path in (*(path for _, path in named), *(Path(pool).expanduser() for pool in request.pools)):
        if path not in read:
            read[path] = read_run(path, request.mapping)
    pools = [read[Path(pool).expanduser()] for pool in request.pools]
    return Inputs(
        stem(qrels_path.resolve().name),
        qrels,
        {name: read[path] for name, path in named},
        _per_run(pools, len(named)),
    )


def held_inputs(
    qrels: Any, runs: Mapping[str, Any], pools: Sequence[Any], mapping: Mapping[str, str], split: str | None
) -> Inputs:
    """The same from objects: each a path, query -> documents, or a polars frame."""
    if not runs:
        raise UsageError("There is no run to score.", mend="Give name -> run.")
    path = Path(qrels).expanduser() if isinstance(qrels, str | Path) else None
    return Inputs(
        "qrels" if path is None else stem(path.resolve().name),
        entries_of(qrels, "qrels", "qrels") if path is None else read_qrels(path, mapping, split=split),
        {name: _run(run, name, mapping) for name, run in runs.items()},
        _per_run([_run(pool, "pool", mapping) for pool in pools], len(runs)),
    )


def fingerprint(entries: Iterable[Entries]) -> str:
    """SHA-256 of what was read, in order, whatever the files are called."""
    import polars as pl

    total = hashlib.sha256()
    for one in entries:
        hashes = one.frame.select(pl.concat_str("query", "doc", "value", separator="\x1f")).to_series()
        total.update("\n".join(hashes.to_list()).encode())
    return total.hexdigest()


def without_self(inputs: Inputs) -> tuple[Inputs, dict[str, int]]:
    """The inputs without entries of a query's own document, and how many each run had of them. DataError where no
    judgement is left."""
    import polars as pl

    def rest(entries: Entries) -> Entries:
        left = entries.frame.with_row_index("row").filter(
            pl.col("query").cast(pl.String) != pl.col("doc").cast(pl.String)
        )
        places = left["row"].to_list()
        return replace(
            entries,
            frame=left.drop("row"),
            line_of=lambda row: entries.line_of(places[row] if places else row),
        )

    qrels, runs = rest(inputs.qrels), {name: rest(run) for name, run in inputs.runs.items()}
    if not len(qrels.frame):
        raise inputs.qrels.fault(
            0, "every judgement is of a query's own document", mend="Leave --exclude-self out."
        )
    pools = tuple(None if pool is None else rest(pool) for pool in inputs.pools)
    gone = {name: len(inputs.runs[name].frame) - len(run.frame) for name, run in runs.items()}
    return replace(inputs, qrels=qrels, runs=runs, pools=pools), gone


def _run(run: Any, name: str, mapping: Mapping[str, str]) -> Entries:
    if isinstance(run, str | Path):
        return read_run(Path(run).expanduser(), mapping)
    return entries_of(run, "run", name)


def _per_run(pools: Sequence[Entries], runs: int) -> tuple[Entries | None, ...]:
    if len(pools) not in (0, 1, runs):
        raise UsageError(
            f"There are {len(pools)} pools for {runs} runs.",
            mend="Give one pool for all runs, or one per run in their order.",
        )
    return tuple(pools) if len(pools) == runs else (pools[0] if pools else None,) * runs


def distinct(named: Sequence[tuple[str, Path]]) -> list[tuple[str, Path]]:
    """The runs under names of their own: those of one file name get their folder's before it. UsageError where that
    tells none apart."""
    names = [name for name, _ in named]
    apart = [
        (name if names.count(name) == 1 else f"{path.resolve().parent.name}/{name}", path)
        for name, path in named
    ]
    names = [name for name, _ in apart]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise UsageError(
            f"Two runs are called {twice!r}.", mend="Name them: --run first=a.trec --run second=b.trec"
        )
    return apart
