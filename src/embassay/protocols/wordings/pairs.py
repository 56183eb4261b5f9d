"""Which pairs are rated: drawn from a set of paraphrases per language, with dummies mixed in, in orders that differ."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from embassay.data.language import explain_why_languages_of_texts_differ
from embassay.data.lines import DelimitedTable, read_text_lines
from embassay.data.rows import RowSource, SourceRow, escape_spreadsheet_formula
from embassay.data.tables import find_known_suffix, open_table_file
from embassay.data.views import draw
from embassay.errors import UsageError
from embassay.protocols.kernel.request import DATA, RunRequest, check_option_values, option, redeclare_option
from embassay.protocols.kernel.tables import format_csv_sheet
from embassay.protocols.wordings.records import ENGLISH, ParaphraseOutcome, classify_language_as_english_or_other
from embassay.protocols.wordings.sets import ParaphraseSet
from embassay.randomness import draw_random_bytes
from embassay.runs.folder import format_value_as_json, write_file_atomically

LOWEST, HIGHEST = 0.0, 5.0
"""The scale of ratings: from nothing in common to the same meaning."""
VERSION = "1"


@dataclass(frozen=True)
class LanguageAcceptanceRules:
    """When a language is accepted and a rater rejected. The paper's threshold is lost in our source and deduced
    (docs/pteb.md); how often is `repeatedly` is ours."""

    threshold: float = option(3.0, "Minimum mean rating to accept a language.")
    dummy_tolerance: float = option(1.0, "Largest accepted error on a dummy pair.")
    deviation: float = option(2.0, "Inspect a rating farther than this from a language model's estimate.")
    low: float = option(2.0, "Inspect a rating this low or lower.")
    repeated: int = option(3, "Reject a rater after this many ratings far from the inspector's and from all estimates.")

    def __post_init__(self) -> None:
        check_option_values(self)
        for name in ("threshold", "dummy_tolerance", "deviation", "low"):
            if not LOWEST <= getattr(self, name) <= HIGHEST:
                raise UsageError(f"{name} is {getattr(self, name)}.", mend="Use a number from 0 to 5.")

    def as_dict(self) -> dict[str, Any]:
        """As saved in `rules.json`."""
        return {"version": VERSION, **asdict(self)}

    def list_rule_sentences(self) -> list[str]:
        """The rules as sentences, in the order in which they are applied."""
        return [
            f"A language is accepted when its mean rating is {self.threshold:g} or more, on a scale of 0 to 5. "
            "The mean is over pairs; a pair's value is the mean of its ratings by raters who were not rejected.",
            f"Step 1. A rater who rates a dummy pair more than {self.dummy_tolerance:g} away from the "
            "expected rating (5 for a nearly identical pair, 0 for an unrelated one) is rejected. An unrated dummy "
            "is reported, but no one is rejected for it.",
            "Step 2. Language models estimate every pair. A rating more than "
            f"{self.deviation:g} away from any of their estimates is flagged.",
            f"Step 3. A rating of {self.low:g} or lower is flagged.",
            "Step 4. Ratings flagged in steps 1 to 3 are translated and inspected by hand; the inspector adds their "
            "own rating.",
            f"Step 5. A rater with {self.repeated} or more ratings that are more than {self.deviation:g} away both "
            "from the inspector's and from every model's estimate of the pair is rejected. The inspector may clear a "
            "rater, or reject one, with a reason. Every rejection is logged with its reason, and all ratings of a "
            "rejected rater are left out.",
            "If over 5% of a language's pairs have no rating left, the language gets no verdict.",
        ]


def read_rating_rules_from_dict(plain: dict[str, Any]) -> LanguageAcceptanceRules:
    """The inverse of `LanguageAcceptanceRules.as_dict`; KeyError, TypeError or ValueError for what is not one."""
    if plain["version"] != VERSION:
        raise ValueError(f"version {plain['version']}")
    return LanguageAcceptanceRules(**{name: value for name, value in plain.items() if name != "version"})


Kind = Literal["pair", "nearly identical", "unrelated"]
_LOOKED_AT, _USUAL = 600, 20_000
"""Candidates of a language that are looked at, and characters of them that show what the language is."""
_ENGLISH = "The old bridge over the river was closed for several weeks after the storm."
_FRENCH = "Le vieux pont sur la rivière est resté fermé pendant plusieurs semaines après la tempête."


@dataclass(frozen=True)
class PairToRate:
    """A pair to be rated, as the key has it: `text2` is the paraphrase of `text`. `expected` is the rating of a dummy,
    None for a pair proper."""

    pair_id: str
    lang: str
    kind: Kind
    text: str
    text2: str
    expected: float | None
    dataset: str = ""
    outcome: str = ""

    @property
    def is_dummy(self) -> bool:
        """Whether its rating is known beforehand."""
        return self.kind != "pair"

    def as_dict(self) -> dict[str, Any]:
        """As in the key file."""
        return {**asdict(self), "is_dummy": self.is_dummy}


@dataclass(frozen=True)
class CandidateWording:
    """A usable wording that may be drawn."""

    paraphrase: ParaphraseOutcome
    dataset: str

    @property
    def key(self) -> str:
        """The key that decides whether the wording is drawn."""
        return f"{self.dataset}\n{self.paraphrase.text}\n{self.paraphrase.wording}"


@dataclass(frozen=True)
class PairSampleSize:
    """How many pairs and dummies of each language are drawn, and with which seed."""

    pairs: int = option(50, "Pairs per language.", least=1, group=DATA)
    dummies: int = option(2, "Dummy pairs per language, with known ratings.", least=0)
    raters: int = option(2, "Ratings per pair.", least=1)
    seed: int = redeclare_option(RunRequest, "seed")


def group_candidate_wordings_by_language(
    of: ParaphraseSet, source: str, *, datasets: Sequence[str] = (), run_seed: int | None = None
) -> dict[str, list[CandidateWording]]:
    """Language -> the distinct usable pairs of one run (by default the first) on the datasets, copies included.

    UsageError for a dataset or seed that the source does not have.
    """
    known = of.source(source).datasets
    if unknown := [name for name in datasets if name not in known]:
        raise UsageError(
            f"The paraphrases by {source!r} have no dataset {unknown[0]!r}.", mend=f"Available: {', '.join(known)}."
        )
    by_lang: dict[str, dict[tuple[str, str], CandidateWording]] = {}
    for dataset in datasets or known:
        seeds = of.list_kept_seeds(source, dataset)
        for row in of.rows(source, dataset, seeds[0] if run_seed is None else run_seed):
            if row.usable and row.text.strip():
                pair = (row.text, row.wording)
                by_lang.setdefault(row.lang or "und", {}).setdefault(pair, CandidateWording(row, dataset))
    return {lang: list(rows.values()) for lang, rows in by_lang.items()}


def drop_candidates_in_wrong_language(
    pool: Sequence[CandidateWording], lang: str, size: PairSampleSize
) -> tuple[list[CandidateWording], int]:
    """The candidates that may be drawn, without those that are clearly not in the language the data say, and how many
    of those there were: a French question's candidates can be English, and nobody was asked to rate English.

    A text is compared with those that are recognised as the language; where none is, all may be drawn. Of a large pool
    a part is looked at, drawn as pairs are.
    """
    looked_at = [
        pool[place] for place in draw([candidate.key for candidate in pool], max(_LOOKED_AT, 4 * size.pairs), size.seed)
    ]
    if lang == "mul":
        # Texts of all languages in one list: each is at home there, and the most frequent one rules out none.
        return looked_at, 0
    foreign = _FRENCH if classify_language_as_english_or_other(lang) == ENGLISH else _ENGLISH
    texts = [candidate.paraphrase.text for candidate in looked_at]
    # A text whose language is not recognised says nothing against another one.
    usual = " ".join(text for text in texts if explain_why_languages_of_texts_differ(text, foreign, lang))[:_USUAL]
    good = [
        pair
        for pair in looked_at
        if not (usual and explain_why_languages_of_texts_differ(usual, pair.paraphrase.text, lang))
    ]
    return good, len(looked_at) - len(good)


def sample_language_pairs_with_dummies(
    pool: Sequence[CandidateWording], lang: str, size: PairSampleSize
) -> list[PairToRate]:
    """The pairs drawn for one language with its dummies among them, numbered in an order that tells nothing.

    A language with fewer pairs gives all it has. Dummies are made of texts that were not drawn, where there are
    enough. UsageError where there are no two texts to make dummies of.
    """
    drawn = draw([candidate.key for candidate in pool], size.pairs, size.seed)
    taken = set(drawn)
    rest = [candidate.paraphrase.text for place, candidate in enumerate(pool) if place not in taken]
    own = {pool[place].paraphrase.text for place in drawn}
    # A text may be there several times, and drawn from one of these places only.
    spare = [text for text in rest if text not in own]
    # Each dummy takes two texts.
    texts = spare if len(set(spare)) > 2 * size.dummies else [candidate.paraphrase.text for candidate in pool]
    rows: list[tuple[Kind, str, str, float | None, str, str]] = [
        (
            "pair",
            candidate.paraphrase.text,
            candidate.paraphrase.wording,
            None,
            candidate.dataset,
            candidate.paraphrase.outcome,
        )
        for candidate in (pool[place] for place in drawn)
    ]
    try:
        rows += [_draw_dummy(texts, lang, size.seed, number) for number in range(size.dummies)]
    except ValueError as error:
        raise UsageError(
            f"No dummy pairs can be made in {lang!r}: {error}.", mend="Leave out the language, or use --dummies 0."
        ) from error
    rows.sort(key=lambda row: draw_random_bytes(8, size.seed, "number", lang, row[0], row[1], row[2]))
    return [PairToRate(f"{lang}-{number:03}", lang, *row) for number, row in enumerate(rows, start=1)]


def make_rating_sheet(items: Iterable[PairToRate], rater: str, seed: int) -> list[dict[str, Any]]:
    """What one rater sees of the items: in an order of their own, the paraphrase on either side at random."""

    def make_rating_sheet_row_of_pair(item: PairToRate) -> dict[str, Any]:
        texts = (item.text, item.text2)
        turned = draw_random_bytes(1, seed, "side", rater, item.pair_id)[0] & 1
        first, second = reversed(texts) if turned else texts
        return {"pair_id": item.pair_id, "lang": item.lang, "text": first, "text2": second, "rater_id": rater}

    order = sorted(items, key=lambda item: draw_random_bytes(8, seed, "order", rater, item.pair_id))
    return [make_rating_sheet_row_of_pair(item) for item in order]


def group_pairs_by_language(items: Iterable[PairToRate]) -> Mapping[str, list[PairToRate]]:
    """The items of every language, in the order of the study."""
    groups: dict[str, list[PairToRate]] = {}
    for item in items:
        groups.setdefault(item.lang, []).append(item)
    return groups


def _draw_dummy(
    texts: Sequence[str], lang: str, seed: int, number: int
) -> tuple[Kind, str, str, float | None, str, str]:
    if number % 2 == 0:
        return ("nearly identical", *draw_near_identical_pair(texts, lang, seed, number), HIGHEST, "", "")
    return ("unrelated", *draw_unrelated_pair(texts, seed, number), LOWEST, "", "")


_ENDINGS = ".!?…。！？؟।۔"
_WIDE = frozenset({"zh", "zho", "cmn", "ja", "jpn"})
_LEAST_WORDS = 3
_COMPARED = 300


def draw_near_identical_pair(texts: Sequence[str], lang: str, seed: int, number: int) -> tuple[str, str]:
    """A text and the same text with or without its final punctuation mark.

    Texts of three words or more are taken before shorter ones. ValueError where there is no text.
    """
    order = _shuffle_distinct_texts(texts, seed, f"nearly identical {number}")
    if not order:
        raise ValueError("no text")
    text = next((wording for wording in order if len(wording.split()) >= _LEAST_WORDS), order[0])
    ended = text.rstrip()
    if ended[-1] in _ENDINGS and ended[:-1].strip():
        return text, ended[:-1].rstrip()
    return text, ended + ("。" if lang.split("-")[0].lower() in _WIDE else ".")


def draw_unrelated_pair(texts: Sequence[str], seed: int, number: int) -> tuple[str, str]:
    """A drawn text, and of up to 300 others the one that shares the fewest runs of three characters with it.

    That they share no meaning either is for a person to see before the files are sent. ValueError for fewer than two
    texts.
    """
    order = _shuffle_distinct_texts(texts, seed, f"unrelated {number}")
    if len(order) < 2:
        raise ValueError("fewer than two texts")
    first, *others = order
    return first, min(others[:_COMPARED], key=lambda other: _compute_letter_run_overlap(first, other))


def _shuffle_distinct_texts(texts: Sequence[str], seed: int, purpose: str) -> list[str]:
    """The distinct texts in an order that depends on them and the seed alone."""
    return sorted(
        (text for text in dict.fromkeys(texts) if text.strip()),
        key=lambda text: draw_random_bytes(8, seed, purpose, text),
    )


def _compute_letter_run_overlap(a: str, b: str) -> float:
    first, second = _list_character_trigrams(a), _list_character_trigrams(b)
    return len(first & second) / max(len(first | second), 1)


def _list_character_trigrams(text: str) -> set[str]:
    plain = f"  {' '.join(text.casefold().split())} "
    return {plain[i : i + 3] for i in range(len(plain) - 2)}


COLUMNS = ("pair_id", "lang", "text", "text2", "rater_id", "rating", "is_dummy", "expected", "ts")
SHOWN = ("pair_id", "lang", "text", "text2", "rater_id", "rating", "ts")
"""The columns that raters see."""


def write_rating_table(path: Path, rows: Iterable[Mapping[str, Any]], columns: Sequence[str] = COLUMNS) -> None:
    """Write rows with these columns, by the name's ending as CSV or JSON Lines; a missing cell is blank or null."""
    rows = list(rows)
    if find_known_suffix(path.name) == ".jsonl":
        lines = (format_value_as_json({column: row.get(column) for column in columns}) for row in rows)
        write_file_atomically(path, "".join(f"{line}\n" for line in lines))
        return
    cells = (
        [escape_spreadsheet_formula(_convert_to_cell_value(row.get(column))) for column in columns] for row in rows
    )
    # Spreadsheets take a file without the mark for one in an old code page.
    write_file_atomically(path, format_csv_sheet([columns, *cells]).encode("utf-8-sig"))


def open_rating_table(path: Path) -> RowSource:
    """The table in a file; a CSV's separator is the one of comma, semicolon and tab that its header has most of."""
    if find_known_suffix(path.name) != ".csv":
        return open_table_file(path)
    _, header = next(iter(read_text_lines(path)))
    return DelimitedTable(path, max((",", ";", "\t"), key=header.count))


def read_stripped_cell(row: SourceRow, column: str) -> str:
    """A cell as text without blanks around it; empty where there is none."""
    value = row.cells.get(column)
    return "" if value is None else str(value).strip()


def _convert_to_cell_value(value: Any) -> Any:
    if value is None:
        return ""
    return f"{value:g}" if isinstance(value, float) else value
