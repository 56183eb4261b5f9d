"""Wordings that were written beforehand: those that datasets bring themselves, and stored sets."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

from embassay.errors import UsageError
from embassay.protocols.pteb.paraphrasing.records import Asked, Outcome, Paraphrase
from embassay.protocols.pteb.paraphrasing.set import ParaphraseSet, Source
from embassay.records import Paraphrases
from embassay.runs.files import digest


class Recorded:
    """The wordings in datasets' own column `paraphrases`, by dataset: the first of every text for the first run, and
    so on."""

    name = "recorded"
    remote = False

    def __init__(self, recorded: Mapping[str, Paraphrases]) -> None:
        self._recorded = {dataset: given.by_text() for dataset, given in recorded.items()}
        self._runs = {dataset: given.runs for dataset, given in recorded.items()}
        ordered = sorted((dataset, sorted(texts.items())) for dataset, texts in self._recorded.items())
        self.identity = f"recorded:{digest(ordered)}"

    def seeds(self, runs: int, first: int, *, dataset: str = "") -> tuple[int, ...]:
        """first, first + 1 ...; UsageError where texts of the dataset have fewer wordings than runs."""
        there = (
            [self._runs[dataset]] if dataset in self._runs else [] if dataset else list(self._runs.values())
        )
        most = min(there, default=0)
        if runs > most:
            raise UsageError(
                f"{f'The dataset {dataset!r} has' if dataset else 'The datasets have'} {most} recorded paraphrases "
                f"per text, and {runs} runs need as many.",
                mend=f"Ask for --runs {most}, or name a language model as the paraphraser."
                if most
                else "Name a language model as the paraphraser, or give the data a column paraphrases.",
            )
        return tuple(range(first, first + runs))

    def about(self) -> Mapping[str, Any]:
        """Nothing: the data says where it is from."""
        return {}

    def write(
        self,
        asked: Sequence[Asked],
        *,
        seed: int,
        run: int,
        dataset: str = "",
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, Paraphrase]]:
        """Wording number `run` of each text; `missing` for a text that has none."""
        chosen = [self._recorded[dataset]] if dataset in self._recorded else list(self._recorded.values())
        for position, one in enumerate(asked):
            wordings = next((texts[one.text] for texts in chosen if one.text in texts), ())
            yield position, _recorded(one, wordings, run, seed)
        hear(len(asked))


class Stored:
    """One source of a set, replayed as it was written: the same seeds, wordings, failures and seconds."""

    remote = False

    def __init__(self, name: str, stored: ParaphraseSet, source: Source) -> None:
        self.name, self._set, self._source = name, stored, source
        files = {
            dataset: [(file.seed, file.digest) for file in kept.runs]
            for dataset, kept in source.datasets.items()
        }
        self.identity = f"stored:{source.identity}:{digest(files)}"
        self._wordings = lru_cache(maxsize=2)(self._read)

    def seeds(self, runs: int, first: int, *, dataset: str = "") -> tuple[int, ...]:
        """The stored seeds from `first` on, or from the least where that is not among them. UsageError where there
        are fewer than runs."""
        there = self._seeds(dataset)
        begun = there[there.index(first) :] if first in there else there
        if runs > len(begun):
            of = f" of {dataset!r}" if dataset else ""
            raise UsageError(
                f"{self.name} has {len(there)} runs{of} (seeds {', '.join(map(str, there)) or 'none'}), "
                f"{len(begun)} of them from seed {first} on; {runs} were asked for.",
                mend=f"Ask for --runs {len(begun)}, or name a language model as the paraphraser.",
            )
        return begun[:runs]

    def about(self) -> Mapping[str, Any]:
        """What the set says of who wrote it."""
        return {"paraphraser": self._source.paraphraser, "prompt": self._source.prompt, **self._source.about}

    def mismatches(self, fingerprints: Mapping[str, str]) -> list[str]:
        """A sentence for every dataset whose data is not what the wordings were written for, by its fingerprint."""
        return self._set.mismatches(self._source.name, fingerprints)

    def write(
        self,
        asked: Sequence[Asked],
        *,
        seed: int,
        run: int,  # noqa: ARG002 - the contract's
        dataset: str = "",
        hear: Callable[[int], None] = lambda _: None,
    ) -> Iterator[tuple[int, Paraphrase]]:
        """What the set has of each text in the run with this seed; `missing` for a text that it has not."""
        chosen = self._wordings(dataset if dataset in self._source.datasets else "", seed)
        for position, one in enumerate(asked):
            kept = chosen.get((one.text, one.lang, one.place)) or chosen.get((one.text, "", one.place))
            if kept is None:
                yield position, _missing(one, seed, f"{self.name} does not have it with seed {seed}")
            else:
                yield position, replace(kept, lang=one.lang)
        hear(len(asked))

    def _seeds(self, dataset: str) -> tuple[int, ...]:
        if dataset in self._source.datasets:
            return self._set.seeds(self._source.name, dataset)
        common = [set(self._set.seeds(self._source.name, one)) for one in self._source.datasets]
        return tuple(sorted(set.intersection(*common))) if common else ()

    def _read(self, dataset: str, seed: int) -> dict[tuple[str, str, str], Paraphrase]:
        """(text, language, place) -> its paraphrase, and with an empty language that of any. All datasets' where none
        is named: data may have another name where the set was written."""
        found: dict[tuple[str, str, str], Paraphrase] = {}
        for one in [dataset] if dataset else self._source.datasets:
            if not self._set.has(self._source.name, one, seed):
                continue
            for row in self._set.rows(self._source.name, one, seed):
                found.setdefault((row.text, row.lang, row.place), row)
                found.setdefault((row.text, "", row.place), row)
        return found


def open_stored(name: str, folder: str, source: str = "") -> Stored:
    """The source of the set in `folder` that is called `source`, or is the only one whose name has that in it.
    UsageError where it does not say which, DataError where the set cannot be read."""
    stored = ParaphraseSet.open(folder)
    meant = [source] if source in stored.sources else [one for one in stored.sources if source in one]
    if len(meant) != 1:
        raise UsageError(
            f"The paraphrases in {stored.path} are by {len(stored.sources)} sources"
            + (f", {len(meant)} of them with {source!r} in their names." if source else "."),
            mend=f"Add ?source= and a part of a name: {', '.join(map(repr, stored.sources)) or 'there is none'}.",
        )
    return Stored(name, stored, stored.source(meant[0]))


def _recorded(asked: Asked, wordings: Sequence[str], run: int, seed: int) -> Paraphrase:
    if not asked.text.strip():
        return Paraphrase(asked.text, asked.lang, asked.place, asked.text, "ok", attempts=0, seed=seed)
    if run >= len(wordings):
        return _missing(asked, seed, f"no recorded paraphrase number {run + 1}")
    wording = wordings[run]
    outcome: Outcome = "copied" if wording.strip() == asked.text.strip() else "ok"
    return Paraphrase(asked.text, asked.lang, asked.place, wording, outcome, attempts=0, seed=seed)


def _missing(asked: Asked, seed: int, reason: str) -> Paraphrase:
    return Paraphrase(asked.text, asked.lang, asked.place, "", "missing", reason, attempts=0, seed=seed)
