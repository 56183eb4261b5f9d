"""How a paraphraser did its work on a dataset in one run: what came of the texts, and how far they were reworded."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from embassay.protocols.pteb.paraphrasing.records import REJECTED, Paraphrase
from embassay.records import Result

NOTHING_USABLE = "no text has a usable wording"
NOTHING_ASKED = "no language model was asked"


@dataclass(frozen=True)
class Quality:
    """Counts and means over the distinct texts of a dataset that are not blank.

    `outcomes` count texts by what came of them in the end; `rejected` counts answers by why they were rejected, also
    where a later one was used; `retries` are answers beyond the first. `duplicates` are texts whose wording another
    text has too. `edit_distance` (words, 0 to 1) and `length_ratio` (characters, 1 for equal length) are means over
    usable wordings, `seconds` over texts that a model was asked for; None where there are none.
    """

    texts: int
    outcomes: Mapping[str, int]
    rejected: Mapping[str, int]
    retries: int
    duplicates: int
    edit_distance: float | None
    length_ratio: float | None
    seconds: float | None
    usable: int = field(default=0)
    asked: int = field(default=0)

    @property
    def copied(self) -> int:
        """Texts that came back as they were."""
        return self.outcomes.get("copied", 0)

    @property
    def failed(self) -> int:
        """Texts without a usable wording."""
        return self.texts - self.usable

    @property
    def lost(self) -> float:
        """The share of texts without a usable wording; 0 where there are no texts."""
        return self.failed / self.texts if self.texts else 0.0


def quality(rows: Iterable[Paraphrase]) -> Quality:
    """The quality of the wordings of one run on one dataset."""
    rows = [row for row in rows if row.text.strip()]
    usable = [row for row in rows if row.usable]
    drawn = [row for row in rows if row.seconds > 0]
    rejected = Counter(outcome for row in rows for outcome in row.rejected.split(";") if outcome)
    return Quality(
        texts=len(rows),
        outcomes=dict(Counter(row.outcome for row in rows)),
        rejected=dict(rejected),
        retries=sum(max(0, row.attempts - 1) for row in rows),
        duplicates=_duplicates(usable),
        edit_distance=_mean(_distances(usable)),
        length_ratio=_mean([len(row.wording) / len(row.text) for row in usable]),
        seconds=_mean([row.seconds for row in drawn]),
        usable=len(usable),
        asked=len(drawn),
    )


def quality_rows(
    rows: Sequence[Paraphrase], *, dataset: str, system: str, variant: str, seed: int
) -> list[Result]:
    """The quality as result rows of the task `paraphrases`: of all texts and, where there are several, of each language
    (`subset`, without outcomes that no text of it had).

    Shares of the texts: `copied`, `failed`, `duplicates`, `failed:OUTCOME`. Per text: `retries`, `rejected:OUTCOME`
    (rejected answers, also where a later one was used). Means: `edit_distance`, `length_ratio`, `seconds`.
    """
    langs = list(dict.fromkeys(row.lang for row in rows))
    parts = [("", langs[0] if len(langs) == 1 else "mul", list(rows))]
    if len(langs) > 1:
        parts += [(lang, lang, [row for row in rows if row.lang == lang]) for lang in langs]
    return [
        Result(
            "pteb", "paraphrases", dataset, subset, lang, variant, system, measure, value, n,
            seed=seed, reason=reason if value is None else "",
        )
        for subset, lang, own in parts
        for measure, value, n, reason in _measures(quality(own))
        if value or not subset or ":" not in measure
    ]  # fmt: skip


def _measures(found: Quality) -> Iterable[tuple[str, float | None, int, str]]:
    """(measure, value, n, why there is no value)."""
    yield "edit_distance", found.edit_distance, found.usable, NOTHING_USABLE
    yield "length_ratio", found.length_ratio, found.usable, NOTHING_USABLE
    yield "seconds", found.seconds, found.asked, NOTHING_ASKED
    counts = {"copied": found.copied, "failed": found.failed, "duplicates": found.duplicates}
    counts["retries"] = found.retries
    counts |= {f"rejected:{outcome}": found.rejected.get(outcome, 0) for outcome in REJECTED}
    counts |= {
        f"failed:{outcome}": found.outcomes.get(outcome, 0) for outcome in (*REJECTED, "failed", "missing")
    }
    for measure, count in counts.items():
        yield measure, count / found.texts if found.texts else None, found.texts, "there are no texts"


def _distances(usable: Sequence[Paraphrase]) -> list[float]:
    from embassay.measures import edit_distances

    return list(edit_distances([row.text for row in usable], [row.wording for row in usable]).tolist())


def _duplicates(usable: Sequence[Paraphrase]) -> int:
    """How many different texts share their wording with another one of their language."""
    texts: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in usable:
        texts[row.lang, row.wording].add(row.text)
    return sum(len(some) for some in texts.values() if len(some) > 1)


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
