"""A set of paraphrases in several languages, a study drawn from it, and raters who fill in their files."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from embassay.protocols.pteb.options import RatingStudyPoolOptions
from embassay.protocols.pteb.validation.study import DrawnStudy, draw_rating_study
from embassay.protocols.wordings.pairs import LanguageAcceptanceRules, PairSampleSize, PairToRate
from embassay.protocols.wordings.records import ParaphraseOutcome
from embassay.protocols.wordings.sets import ParaphraseSet, WordingSource

WORDS = {
    "fra": "le chat gris dort sur une chaise rouge pendant que la pluie tombe dehors sans bruit",
    "deu": "der alte Hund läuft heute schnell über die breite Straße während alle Leute singen",
    "swa": "paka mweusi analala juu ya kiti chekundu wakati mvua inanyesha nje bila kelele nyingi",
}
ALL, RULES = RatingStudyPoolOptions(), LanguageAcceptanceRules()
LETTERS = "abcdefghijklmnopqrstuvwxyz"


def wordings(lang: str, n: int = 80) -> list[ParaphraseOutcome]:
    """Distinct texts, each with another order of its words as its paraphrase; one is a copy, one has failed."""
    words = WORDS[lang].split()
    found = []
    for i in range(n):
        tag = LETTERS[i % 26] * 3 + LETTERS[i // 26] * 3
        text = " ".join([*words[i % 7 :], tag]) + "."
        other = " ".join([tag, *reversed(words[i % 7 :])])
        found.append(ParaphraseOutcome(text, lang, "", other, "ok", seed=1337))
    copy = ParaphraseOutcome("Un " + found[0].text, lang, "", "Un " + found[0].text, "copied", seed=1337)
    lost = ParaphraseOutcome("Perdu " + found[0].text, lang, "", "", "refused", "it would not", seed=1337)
    return [*found, copy, lost]


@pytest.fixture
def paraphrases(tmp_path: Path) -> ParaphraseSet:
    """Two languages of one dataset, a third in another; by one paraphraser."""
    found = ParaphraseSet.open_or_create_in_folder(tmp_path / "set")
    found.add(WordingSource(name="default", paraphraser="openai:writer", identity="writer/1"))
    found.keep("default", "news", 1337, [*wordings("fra"), *wordings("deu")])
    found.keep("default", "sayings", 1337, wordings("swa", 30))
    return found


@pytest.fixture
def draw(paraphrases: ParaphraseSet, tmp_path: Path) -> Callable[..., DrawnStudy]:
    """Draw a study; keyword arguments are of the sample and, in `drawing` and `rules`, of those."""

    def drawn(
        name: str = "study",
        *,
        ending: str = "csv",
        drawing: RatingStudyPoolOptions = ALL,
        rules: LanguageAcceptanceRules = RULES,
        **size: int,
    ) -> DrawnStudy:
        return draw_rating_study(paraphrases, tmp_path / name, drawing, PairSampleSize(**size), rules, ending=ending)

    return drawn


@pytest.fixture
def fill() -> Callable[..., None]:
    """Have every rater fill in their file: `rate` gets the pair and the rater, None leaves a blank."""

    def filled(study: DrawnStudy, rate: Callable[[PairToRate, str], float | None]) -> None:
        items = {item.pair_id: item for item in study.items}
        for path in study.list_rater_files():
            with path.open(encoding="utf-8-sig", newline="") as stream:
                rows = list(csv.DictReader(stream))
            for row in rows:
                value = rate(items[row["pair_id"]], row["rater_id"])
                row["rating"] = "" if value is None else f"{value:g}"
            write(path, rows)

    return filled


def write(path: Path, rows: list[dict[str, object]], delimiter: str = ",") -> Path:
    """A table of rows; columns are the keys of the first."""
    with path.open("w", encoding="utf-8-sig", newline="") as stream:
        writer = csv.DictWriter(stream, rows[0], delimiter=delimiter)
        writer.writeheader()
        writer.writerows(rows)
    return path


@pytest.fixture
def write_csv() -> Callable[..., Path]:
    """Write a table of rows."""
    return write
