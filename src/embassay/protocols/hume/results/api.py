"""Scoring from Python."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.hume.results.published_run import run_published
from embassay.protocols.hume.results.request import PublishedRequest, StudyRequest
from embassay.protocols.hume.results.session import carry_out
from embassay.protocols.outcome import Run
from embassay.runs.engines.contract import Workers

Paths = str | Path | Sequence[str | Path]


def score(
    study: str | Path | None = None,
    systems: Sequence[str] = (),
    *,
    out: str | Path,
    from_mteb: Paths = (),
    llm_scores: Paths = (),
    workers: Workers = 1,
    cache: Path | None = None,
    max_usd: float | None = None,
    **arguments: Any,
) -> Run:
    """Score people, systems and language models on the same items, into the folder `out`; returns the run.

    From the folder of a `study`, further arguments are those of `StudyRequest`: tasks, answers, aggregation ("paper"),
    human_ap_mode ("tie_aware"), one_annotator ("wilson"), samples_per_label, resamples (10,000), seed (1337),
    tokenizer ("cl100k"), min_answered (0.5), min_shared (10), repeats (10), neighbours (10). Or from published results
    (`from_mteb`, files or folders, and `llm_scores`), those of `PublishedRequest`. Resumes what is unfinished in `out`,
    and scores people anew.

    UsageError when `out` holds a run of other arguments, DataError for a study or files that are not what they should
    be or that nobody annotated, BudgetExceeded at `max_usd`: what is finished is kept. `read_summary(run.path)` reads
    the record.
    """
    results, llms = _texts(from_mteb), _texts(llm_scores)
    if (study is None) == (not results) or (results and systems):
        raise UsageError(
            "Score either a study with systems, or published results.", mend="Give one of the two."
        )
    plain = _plain(arguments)
    if results:
        return run_published(PublishedRequest(results, llms, **plain), Path(out))
    request = StudyRequest(str(study), tuple(systems), **plain)
    return carry_out(request, Path(out), workers=workers, cache=cache, max_usd=max_usd)


def _texts(given: Paths) -> tuple[str, ...]:
    return (str(given),) if isinstance(given, str | Path) else tuple(map(str, given))


def _plain(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Lists as tuples, paths as text: a request is a value."""
    return {
        name: _texts(value) if name in ("tasks", "answers") else value for name, value in arguments.items()
    }
