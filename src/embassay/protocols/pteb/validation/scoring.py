"""From rating files to a finished folder: the five steps, table 11, the list to inspect and the log of rejections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from embassay import __version__
from embassay.errors import UsageError
from embassay.protocols.kernel.outcome import moment, spent
from embassay.protocols.kernel.tables import write_tables
from embassay.protocols.pteb.validation.checks import NO_DECISIONS, Checked, Rating, check
from embassay.protocols.pteb.validation.estimates import estimate_files
from embassay.protocols.pteb.validation.inspection import FILE, keep_list, read_decisions
from embassay.protocols.pteb.validation.languages import LanguageResult, language_results
from embassay.protocols.pteb.validation.pairs import Item
from embassay.protocols.pteb.validation.rating_file import check_decisions, collect, write_ratings
from embassay.protocols.pteb.validation.study import Study
from embassay.protocols.pteb.validation.tables import rows, tables
from embassay.runs.folder import RunFolder, hardware, versions
from embassay.runs.spending import Spending
from embassay.systems.remote import Ledger


@dataclass(frozen=True)
class Scored:
    """A study with all its ratings: what was checked, the results per language and, last, of all, and warnings."""

    study: Study
    ratings: tuple[Rating, ...]
    checked: Checked
    results: tuple[LanguageResult, ...]
    warnings: tuple[str, ...]

    @property
    def accepted(self) -> tuple[str, ...]:
        """The languages that were accepted."""
        return tuple(one.lang for one in self.results if one.lang and one.accepted)


def score(
    study: Study, files: Sequence[Path] = (), *, estimates: Sequence[Path] = (), decisions: Path | None = None
) -> Scored:
    """Apply the study's rules to the rating files, by default those in its folder, and to the folder's estimates and
    `estimates`. `decisions` is the inspector's file, by default the list in the folder where there is one.

    UsageError where nothing was rated, DataError with file and line for files that are not what they should be.
    """
    items = {item.pair_id: item for item in study.items}
    ratings = collect(files or study.rater_files(), items)
    if not ratings:
        raise UsageError(
            f"There are no ratings for the study in {study.path}.",
            mend="Put the raters' files into for-raters/, or name them.",
        )
    said = collect([*estimate_files(study), *estimates], items, estimates=True)
    listed = study.path / FILE
    found = decisions or (listed if listed.exists() else None)
    decided = read_decisions(found) if found else NO_DECISIONS
    check_decisions(decided, ratings, items)
    checked = check(ratings, items, study.rules, estimates=said, decisions=decided)
    results = language_results(
        checked.kept, study.items, checked.raters, study.rules, per_pair=study.raters, seed=study.seed
    )
    warnings = [*_warnings(study, checked, said, items), *_doubts(results, study)]
    return Scored(study, tuple(ratings), checked, results, tuple(warnings))


@contextmanager
def accounts(path: Path, max_usd: float | None) -> Iterator[Ledger]:
    """The ledger for estimates of the study in a folder, limited by what all of them may cost; it is kept there."""
    spending = Spending(RunFolder(path).spending, moment("milliseconds"))
    with closing(spending):
        yield Ledger(max_usd=max_usd, spent_usd=spending.counted_usd, journal=spending)


def keep(scored: Scored, *, command: str = "") -> RunFolder:
    """Write what came of the study into its folder, as a run folder that `embassay report` reads, with the list to
    inspect (`inspect.csv`) and all ratings with the key (`ratings.csv`)."""
    study = scored.study
    folder = RunFolder(study.path)
    keep_list(study.path / FILE, scored.checked.flags, {item.pair_id: item for item in study.items})
    found = list(rows(scored.results, study.system, study.seed))
    folder.write_results(found)
    write_tables(study.path, tables(scored.results, scored.checked.raters, study.rules.threshold))
    write_ratings(study.path / "ratings.csv", _with_key(scored))
    folder.write_manifest(_manifest(scored, command, folder))
    return folder


def _warnings(
    study: Study, checked: Checked, estimates: Sequence[Rating], items: Mapping[str, Item]
) -> list[str]:
    judges = dict.fromkeys(one.rater_id for one in estimates)
    told = []
    if not judges:
        told.append(
            "No language model has estimated the pairs: step 2 is left out, and step 5 rejects nobody for it."
        )
    if study.system in judges:
        told.append(f"{study.system} estimates its own paraphrases.")
    for judge in judges:
        blank = len(items) - sum(one.rater_id == judge for one in estimates)
        if blank:
            told.append(f"{judge} has no estimate of {blank} of {len(items)} pairs.")
    if checked.not_inspected:
        told.append(f"{len(checked.not_inspected)} flagged pairs are not inspected yet; see {FILE}.")
    blank = sum(one.missing for one in checked.raters)
    if blank:
        told.append(f"{blank} ratings of the pairs that raters were given are blank.")
    short = [
        lang
        for lang, facts in study.facts["languages"].items()
        if facts["pairs"] < study.facts["sample"]["pairs"]
    ]
    if short:
        told.append(f"There were fewer pairs than asked for in {', '.join(short)}.")
    return told


def _doubts(results: Sequence[LanguageResult], study: Study) -> Iterator[str]:
    """What speaks against relying on a language's verdict."""
    for one in results:
        if not one.lang:
            continue
        if one.incomplete:
            few = f"{one.incomplete} of {one.pairs} pairs"
            yield f"{few} in {one.lang} have fewer than {study.raters} ratings that count."
        if one.mean is not None and one.mean.low <= study.rules.threshold <= one.mean.high:
            near = f"The threshold is within the interval of {one.lang}"
            yield f"{near}: with other pairs the verdict could be the other."
        if one.alpha is not None and one.alpha.low <= 0:
            yield f"The raters of {one.lang} may agree no better than by chance (alpha {one.alpha.estimate:.2f})."


def _with_key(scored: Scored) -> list[dict[str, Any]]:
    """All ratings, those of dummies and of rejected raters too, in the shared format; `text` is the original."""
    items = {item.pair_id: item for item in scored.study.items}
    return [
        {
            **items[one.pair_id].as_dict(),
            "rater_id": one.rater_id,
            "rating": one.value,
            "is_dummy": int(items[one.pair_id].is_dummy),
            "ts": one.ts,
        }
        for one in scored.ratings
    ]


def _manifest(scored: Scored, command: str, folder: RunFolder) -> dict[str, Any]:
    study, checked = scored.study, scored.checked
    previous = folder.read_manifest() or {}
    with closing(Spending(folder.spending, moment("milliseconds"))) as spending:
        paid = spent(spending, None)
    return {
        "embassay": __version__,
        "protocol": "pteb",
        "name": study.path.name,
        "status": "finished" if not checked.not_inspected else "partial",
        "created": previous.get("created", study.facts["created"]),
        "updated": moment(),
        "command": command,
        "step": "validation",
        "arguments": {
            **study.facts["sample"],
            "rules": study.rules.as_dict(),
            "source": study.facts["source"],
        },
        "systems": [{"name": study.system, "kind": "llm", "identity": study.facts["identity"], "facts": {}}],
        "datasets": [],
        "hardware": hardware(),
        "versions": versions(),
        "cells": [],
        "study": study.facts,
        "rules": study.rules.in_words(),
        "raters": [asdict(one) for one in checked.raters],
        "languages": [
            {"lang": one.lang, "pairs": one.pairs, "rated": one.rated, "incomplete": one.incomplete}
            for one in scored.results
        ],
        "not_inspected": list(checked.not_inspected),
        "warnings": list(scored.warnings),
        "spent": paid,
        "problems": {"failed_cells": 0},
    }
