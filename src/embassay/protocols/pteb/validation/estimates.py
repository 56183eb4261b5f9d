"""Step 2: language models estimate every pair, as blind as the raters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from embassay.protocols.kernel import inputs as opening
from embassay.protocols.pteb.judging.chats import Judge, check_named
from embassay.protocols.pteb.judging.options import RatingOptions
from embassay.protocols.pteb.judging.plan import of_ratings
from embassay.protocols.pteb.judging.ratings import Asking, Pair, rate
from embassay.protocols.pteb.paraphrasing.prompts import judge_prompt
from embassay.protocols.pteb.validation.pairs import sheet
from embassay.protocols.pteb.validation.rating_file import write_ratings
from embassay.protocols.pteb.validation.study import Study
from embassay.runs.files import slug
from embassay.runs.forecast import Forecast, Forecasts
from embassay.systems.remote import Ledger

ESTIMATES = "estimates"


def estimate(
    study: Study,
    judges: Sequence[str],
    *,
    ledger: Ledger | None = None,
    cache: Path | None = None,
    options: RatingOptions = RatingOptions(),  # noqa: B008 - frozen
    hear: Callable[[int], None] = lambda _: None,
) -> list[Path]:
    """Have each of the models rate every pair and dummy, and keep a rating file of each in the study's folder.

    Which text is the paraphrase is hidden from them as from people. A pair without a usable answer stays blank. Answers
    are kept in the answer cache, so nothing is asked twice. UsageError for a spec that is none, ModelError for a model
    that cannot be had, BudgetExceeded at the ledger's limit.
    """
    paths = []
    for judge in _judges(study, judges):
        with judge.with_kept_answers(ledger, cache) as chat:
            rows, pairs = _shown(study, chat.name)
            with opening.charged(ledger, chat.name):
                ratings = rate(chat, pairs, _asking(study, options), hear)
        path = study.path / ESTIMATES / f"{slug(chat.name)}.csv"
        write_ratings(path, [{**row, "rating": one.value} for row, one in zip(rows, ratings, strict=True)])
        paths.append(path)
    return paths


def forecast(
    study: Study,
    judges: Sequence[str],
    *,
    cache: Path | None = None,
    options: RatingOptions = RatingOptions(),  # noqa: B008 - frozen
) -> Forecasts:
    """What the estimates will take beyond the answers that are kept; nothing is sent."""
    found = []
    for judge in _judges(study, judges):
        name = judge.open().name
        _, pairs = _shown(study, name)
        head = Forecast("validation", "", name, len(pairs), 0, 0)
        found.append(of_ratings(head, judge, pairs, _asking(study, options), cache))
    return Forecasts(tuple(found))


def _judges(study: Study, specs: Sequence[str]) -> list[Judge]:
    check_named(specs)
    longest = max(len(f"{item.text}{item.text2}".encode()) for item in study.items)
    return [Judge(spec, longest) for spec in dict.fromkeys(specs)]


def _shown(study: Study, judge: str) -> tuple[list[dict[str, Any]], list[Pair]]:
    """The pairs as a judge sees them, with the rows they are from."""
    rows = sheet(study.items, judge, study.seed)
    return rows, [(row["text"], row["text2"]) for row in rows]


def _asking(study: Study, options: RatingOptions) -> Asking:
    return Asking(judge_prompt().text, options, study.seed)


def estimate_files(study: Study) -> list[Path]:
    """The estimates that the study's folder has."""
    folder = study.path / ESTIMATES
    return sorted(folder.iterdir()) if folder.is_dir() else []
