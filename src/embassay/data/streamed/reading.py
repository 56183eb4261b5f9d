"""From a source of rows to the documents of a corpus: small ones in memory, large ones in a file that is kept."""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from embassay.data.faults import fault, is_collecting
from embassay.data.intake import Intake, nothing_usable
from embassay.data.rows import Row, Source
from embassay.data.sampling import drawn_places
from embassay.data.streamed import gathering, shelf
from embassay.data.streamed.column import TextColumn
from embassay.data.streamed.gathering import Gathering, cannot_keep
from embassay.data.streamed.identity import key_of_corpus, likely_size
from embassay.data.streamed.oddities import oddities
from embassay.data.streamed.picked import Picked
from embassay.data.streamed.seen import SeenIds
from embassay.data.streamed.shelf import About, KeptCorpus
from embassay.folders import corpus_folder
from embassay.records import Documents, Skipped

Parse = Callable[[Row, str, Intake], str | None]


@dataclass(frozen=True)
class Corpus:
    """All documents of a source; `noted` is what is odd about them, where that is known already."""

    ids: Sequence[str]
    texts: Sequence[str]
    noted: tuple[Skipped, ...] | None = None


def read_corpus(source: Source, parse: Parse, intake: Intake, what: str) -> Corpus:
    """The documents that `parse` makes of the rows of `source`; it gives None for a row to leave out, and `what` names
    what it does.

    A large corpus is read from the cache folder where it is kept already, else kept there; one that is read while
    faults are collected lies there for this process only. Ids are checked for repeats, and rows left out are counted
    in `intake`. DataError for an id that is there twice and when no row is usable, UsageError where a large corpus
    cannot be kept.
    """
    size = likely_size(source)
    key = None
    if size is not None and size > gathering.IN_MEMORY:
        key = key_of_corpus(source, intake.settings, what)
    with ExitStack() as held:
        kept = _found(key, held) if key else None
        return _taken(kept, intake) if kept else _read(source, parse, intake, what)


def limited(corpus: Corpus, limit: int | None, seed: int, required: Container[str] = ()) -> Corpus:
    """What `limit` leaves of a corpus, drawn with `seed`; `required` ids stay in any case."""
    if limit is None:
        return corpus
    places = drawn_places(corpus.ids, limit, seed, required)
    if len(places) == len(corpus.ids):
        return corpus
    ids, texts = corpus.ids, corpus.texts
    if isinstance(ids, TextColumn) and isinstance(texts, TextColumn):
        few = _in_memory(Picked(ids, places), Picked(texts, places))
        return few or Corpus(Picked(ids, places), Picked(texts, places))
    kept = places.tolist()
    return Corpus(tuple(ids[place] for place in kept), tuple(texts[place] for place in kept))


def recorded(corpus: Corpus, intake: Intake) -> Documents:
    """The corpus as a record, what is odd about it told to `intake`."""
    found = oddities(corpus.ids, corpus.texts) if corpus.noted is None else corpus.noted
    intake.tally.take(noted=found)
    return Documents(corpus.ids, corpus.texts)


def _found(key: str, held: ExitStack) -> KeptCorpus | None:
    """The corpus that is kept under `key`; where there is none, it is this process's to make while `held`."""
    try:
        held.enter_context(shelf.alone(corpus_folder(), key))
    except OSError as error:
        # A folder that cannot be written may still hold it.
        if kept := shelf.find(corpus_folder(), key):
            return kept
        raise cannot_keep(corpus_folder(), error) from error
    return shelf.find(corpus_folder(), key)


def _taken(kept: KeptCorpus, intake: Intake) -> Corpus:
    intake.langs.update(kept.about.langs)
    intake.tally.take(skipped=kept.about.skipped)
    return Corpus(kept.ids, kept.texts, kept.about.noted)


def _read(source: Source, parse: Parse, intake: Intake, what: str) -> Corpus:
    seen, own = SeenIds(), Intake(intake.settings)
    with Gathering(corpus_folder(), seen.condense) as gathered:
        documents = own.usable(source, ["text"], lambda row, key: parse(row, key, own), seen)
        for key, text in documents:
            gathered.add(key, text)
        intake.tally.take(skipped=own.tally.skipped())
        if not gathered.count:
            raise nothing_usable(source, seen.count, intake.tally.skipped())
        gathered.finish()
        for error in seen.repeats(source):
            fault(error)
        intake.langs |= own.langs
        if gathered.folder is None:
            return Corpus(tuple(gathered.ids), tuple(gathered.texts))
        return _kept(gathered, gathered.folder, source, own, what)


def _kept(gathered: Gathering, folder: Path, source: Source, own: Intake, what: str) -> Corpus:
    """The corpus written in `folder`, moved to where it stays."""
    ids, texts = TextColumn.open(folder / "ids"), TextColumn.open(folder / "texts")
    origins = tuple(origin.address for origin in source.origins())
    noted = oddities(ids, texts)
    about = About(origins, len(ids), tuple(sorted(own.langs)), own.tally.skipped(), noted)
    key = None if is_collecting() else key_of_corpus(source, own.settings, what)
    if key is None:
        gathered.keep_until_exit()
        return Corpus(ids, texts, noted)
    try:
        kept = shelf.place(folder, about, corpus_folder() / key)
    except OSError as error:
        raise cannot_keep(corpus_folder(), error) from error
    return Corpus(kept.ids, kept.texts, noted)


def _in_memory(ids: Picked, texts: Picked) -> Corpus | None:
    """The documents as tuples; None where they are too large for that."""
    found: list[tuple[str, str]] = []
    size = 0
    for key, text in zip(ids, texts, strict=True):
        found.append((key, text))
        size += len(key) + len(text)
        if size > gathering.IN_MEMORY:
            return None
    return Corpus(tuple(key for key, _ in found), tuple(text for _, text in found))
