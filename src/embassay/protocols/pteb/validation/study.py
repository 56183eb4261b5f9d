"""A human check on disk: what is sent to raters, the key that is not, and the rules, sealed before anybody rates.

FOLDER/study.json          what was drawn from where, and the checksums of rules and key
FOLDER/rules.json          the rules (in words in rules.md)
FOLDER/key.jsonl           which text is the paraphrase, and which pairs are dummies: not for raters
FOLDER/for-raters/         instructions.md and one file per rater
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from embassay.errors import DataError, UsageError
from embassay.limits import parse_bounded_json, read_bounded_file
from embassay.protocols.kernel.outcome import format_current_utc_time
from embassay.protocols.pteb.options import RatingStudyPoolOptions
from embassay.protocols.wordings.pairs import (
    SHOWN,
    LanguageAcceptanceRules,
    PairSampleSize,
    PairToRate,
    drop_candidates_in_wrong_language,
    group_candidate_wordings_by_language,
    group_pairs_by_language,
    make_rating_sheet,
    read_rating_rules_from_dict,
    sample_language_pairs_with_dummies,
    write_rating_table,
)
from embassay.protocols.wordings.sets import ParaphraseSet, WordingSource
from embassay.runs.folder import format_value_as_json, slugify_name, write_file_atomically, write_json

FORMAT, SCHEMA = "embassay-validation", 1
RATERS = "for-raters"

INSTRUCTIONS = """\
# How similar are the two texts?

You will see pairs of texts in a language that you read well. For each pair, rate **how similar the two texts are in
meaning**, from 0 to 5. Values between whole numbers, such as 3.5, are allowed.

| Rating | Meaning |
|---|---|
| 5 | Both texts mean the same. |
| 4 | Both texts mean the same except for a minor detail. |
| 3 | The main point is the same, but something important is missing, added or different. |
| 2 | The texts share only part of their meaning. |
| 1 | The texts are about the same subject but say different things. |
| 0 | The texts have nothing in common. |

- Judge only the meaning, not style, grammar, length or which text is better.
- Rate the pairs in the order of your file, each on its own, without using a translator or asking others.
- Write the number in the `rating` column and change nothing else. Leave it blank if you cannot tell.
- Some pairs are nearly identical and others are unrelated. This is intentional.

Seal of the rules for evaluating ratings: `{seal}`
"""


@dataclass(frozen=True)
class DrawnStudy:
    """A study as it was drawn: its facts (`study.json`), rules and key."""

    path: Path
    facts: dict[str, Any]
    rules: LanguageAcceptanceRules
    items: tuple[PairToRate, ...]

    @property
    def system(self) -> str:
        """The system whose paraphrases are rated."""
        return str(self.facts["paraphraser"])

    @property
    def raters(self) -> int:
        """The number of raters: how many ratings every pair is to have."""
        return int(self.facts["sample"]["raters"])

    @property
    def seed(self) -> int:
        """The seed of the draw, and of the intervals."""
        return int(self.facts["sample"]["seed"])

    def list_rater_files(self) -> list[Path]:
        """The raters' files in the folder."""
        return sorted(path for path in (self.path / RATERS).iterdir() if path.suffix in (".csv", ".jsonl"))


def draw_rating_study(
    of: ParaphraseSet,
    target: Path,
    drawing: RatingStudyPoolOptions,
    size: PairSampleSize,
    rules: LanguageAcceptanceRules,
    *,
    ending: str = "csv",
) -> DrawnStudy:
    """Draw pairs, make the raters' files and seal rules and key. UsageError where `target` holds anything, for a
    source or language that the set does not have, and for several sources with none named."""
    if target.exists() and any(target.iterdir()):
        raise UsageError(
            f"{target} is not empty, and an existing study is never changed.", mend="Choose another --out folder."
        )
    source = _select_wording_source(of, drawing.source)
    pools = group_candidate_wordings_by_language(of, source.name, datasets=drawing.datasets, run_seed=drawing.run_seed)
    langs = _select_paraphrase_languages(pools, drawing.langs)
    fit = {lang: drop_candidates_in_wrong_language(pools[lang], lang, size) for lang in langs}
    items = tuple(item for lang in langs for item in sample_language_pairs_with_dummies(fit[lang][0], lang, size))
    rules_text = format_value_as_json(rules.as_dict(), indent=1) + "\n"
    key = "".join(f"{format_value_as_json(item.as_dict())}\n" for item in items)
    facts = {
        "format": FORMAT,
        "schema": SCHEMA,
        "created": format_current_utc_time(),
        "paraphrases": str(of.path),
        "source": source.name,
        "paraphraser": source.paraphraser,
        "identity": source.identity,
        "prompt": source.prompt,
        "sample": asdict(size),
        "run_seed": drawing.run_seed,
        "languages": {
            lang: {
                "candidates": len(pools[lang]),
                "other_language": fit[lang][1],
                **_count_pairs_and_dummies_of_language(items, lang),
            }
            for lang in langs
        },
        "sha256": {"rules.json": _hash_text(rules_text), "key.jsonl": _hash_text(key)},
    }
    _write_rating_sheets(target, items, size, _hash_text(rules_text), ending)
    write_file_atomically(target / "rules.json", rules_text)
    write_file_atomically(target / "rules.md", _format_rules_as_markdown(rules, _hash_text(rules_text)))
    write_file_atomically(target / "key.jsonl", key)
    # Last, so that a folder with it is whole.
    write_json(target / "study.json", facts)
    return DrawnStudy(target, facts, rules, items)


def read_study(path: Path) -> DrawnStudy:
    """The study in a folder. DataError where there is none, and where rules or key are not what was sealed."""
    facts = _read_study_facts(path / "study.json")
    texts = {name: _read_file_checked_by_seal(path / name, seal) for name, seal in facts["sha256"].items()}
    try:
        rules = read_rating_rules_from_dict(parse_bounded_json(texts["rules.json"]))
        rows = [parse_bounded_json(line) for line in texts["key.jsonl"].split("\n") if line]
        items = tuple(PairToRate(**{name: value for name, value in row.items() if name != "is_dummy"}) for row in rows)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise DataError(
            "the study was written by a different version of Embassay", path=path, found=str(error),
            mend="Use the version that wrote it."
        ) from error  # fmt: skip
    return DrawnStudy(path, facts, rules, items)


def _read_study_facts(path: Path) -> dict[str, Any]:
    try:
        facts = parse_bounded_json(read_bounded_file(path).decode("utf-8"))
        if (facts["format"], facts["schema"]) != (FORMAT, SCHEMA):
            raise ValueError(f"format {facts['format']} {facts['schema']}")
        return dict(facts)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(
            "the folder contains no study", path=path, found=str(error),
            mend="Pass the folder that `embassay pteb validate sample` wrote."
        ) from error  # fmt: skip


def _read_file_checked_by_seal(path: Path, seal: str) -> str:
    try:
        text = read_bounded_file(path).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise DataError("the study's file cannot be read", path=path, found=str(error)) from error
    if _hash_text(text) != seal:
        raise DataError(
            "the file was changed after the sample was drawn", path=path, expected=f"sha256 {seal[:16]}…",
            found=f"{_hash_text(text)[:16]}…",
            mend="Rules are fixed before anyone rates, so restore the file or draw a new study."
        )  # fmt: skip
    return text


def _select_wording_source(of: ParaphraseSet, name: str) -> WordingSource:
    if name or not of.sources:
        return of.source(name)
    if len(of.sources) > 1:
        raise UsageError(
            f"The paraphrases in {of.path} come from {len(of.sources)} sources.",
            mend=f"Choose one with --source: {', '.join(of.sources)}.",
        )
    return next(iter(of.sources.values()))


def _select_paraphrase_languages(pools: dict[str, Any], asked: Sequence[str]) -> list[str]:
    for lang in asked:
        if lang not in pools:
            near = get_close_matches(lang, pools, n=1)
            raise UsageError(
                f"There are no paraphrases in the language {lang!r}.",
                mend=(f"Did you mean {near[0]}? " if near else "") + f"Available: {', '.join(sorted(pools))}.",
            )
    return list(dict.fromkeys(asked)) or sorted(pools)


def _count_pairs_and_dummies_of_language(items: Sequence[PairToRate], lang: str) -> dict[str, int]:
    of_lang = [item for item in items if item.lang == lang]
    return {
        "pairs": sum(not item.is_dummy for item in of_lang),
        "dummies": sum(item.is_dummy for item in of_lang),
        "copies": sum(item.outcome == "copied" for item in of_lang),
    }


def _write_rating_sheets(
    target: Path, items: Sequence[PairToRate], size: PairSampleSize, seal: str, ending: str
) -> None:
    for lang, of_lang in group_pairs_by_language(items).items():
        for number in range(1, size.raters + 1):
            rater = f"{lang}-rater{number}"
            write_rating_table(
                target / RATERS / f"{slugify_name(rater)}.{ending}",
                make_rating_sheet(of_lang, rater, size.seed),
                columns=SHOWN,
            )
    write_file_atomically(target / RATERS / "instructions.md", INSTRUCTIONS.format(seal=seal))


def _format_rules_as_markdown(rules: LanguageAcceptanceRules, seal: str) -> str:
    lines = "\n".join(f"- {sentence}" for sentence in rules.list_rule_sentences())
    return f"# Rules of this study, fixed before anyone rated\n\n{lines}\n\nSeal: `{seal}`\n"


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()
