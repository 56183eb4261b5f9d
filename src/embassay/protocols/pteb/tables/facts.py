"""What was measured with: word counts (table 1), time (table 8), datasets (table 13), the quality of the wordings."""

from __future__ import annotations

from collections.abc import Iterator

from embassay.protocols.kernel.tables import Column, ColumnTable, Value
from embassay.protocols.pteb.analysis import average
from embassay.protocols.pteb.tables.grid import AVERAGE, ORIGINAL, Given, headline

PARAPHRASES = "paraphrases"


def described_tables(given: Given) -> Iterator[ColumnTable]:
    """The tables that are no scores."""
    if given.words:
        yield _words(given)
    if given.seconds and "sts" in given.tasks:
        yield _resources(given)
    yield _datasets(given)
    if any(row.task == PARAPHRASES for row in given.rows):
        yield _quality(given)


def _words(given: Given) -> ColumnTable:
    rows: list[tuple[Value, ...]] = [
        (one.dataset, one.mean, one.median, one.most, one.texts) for one in given.words
    ]
    rows.append((AVERAGE, average(given.words), None, None, None))
    columns = (
        Column("dataset", "text"), Column("word_count", decimals=1), Column("median", decimals=1),
        Column("most", decimals=0), Column("texts", decimals=0),
    )  # fmt: skip
    return ColumnTable("pteb_table1", "PTEB table 1: words per text", columns, tuple(rows))


def _resources(given: Given) -> ColumnTable:
    """Table 8: what a better score costs."""
    rows = tuple(
        (
            kind, system, given.points("sts", "", system, headline("sts"), ORIGINAL),
            given.points("sts", "", system, headline("sts")), given.seconds.get(system),
            None if system not in given.peaks else given.peaks[system] / 2**30, None,
        )
        for kind, system in given.systems()
    )  # fmt: skip
    columns = (
        Column("kind", "text"), Column("system", "text"), Column("orig_sts"), Column("pteb_sts"),
        Column("runtime_s", decimals=1), Column("peak_rss_gib", decimals=2), Column("vram_gib", decimals=2),
    )  # fmt: skip
    note = (
        "Seconds for one run of the STS datasets, texts that were encoded before not again. Memory is the most that "
        "the process held, with all that was loaded before; that of a GPU is not measured."
    )
    return ColumnTable("pteb_table8", "PTEB table 8: score and time", columns, rows, note)


def _datasets(given: Given) -> ColumnTable:
    rows = tuple((one.task, one.dataset, "; ".join(one.languages), one.measure) for one in given.datasets)
    columns = tuple(Column(name, "text") for name in ("task", "dataset", "languages", "metric"))
    return ColumnTable("pteb_table13", "PTEB table 13: datasets", columns, rows)


def _quality(given: Given) -> ColumnTable:
    """What came of the texts of every dataset, language, paraphraser and run."""
    own = [row for row in given.rows if row.task == PARAPHRASES]
    measures = list(dict.fromkeys(row.measure for row in own))
    found = {(row.system, row.variant, row.dataset, row.lang, row.measure): row for row in own}
    rows: list[tuple[Value, ...]] = []
    for key in dict.fromkeys(key[:-1] for key in found):
        values = [found.get((*key, measure)) for measure in measures]
        n = max(row.n for row in values if row is not None)
        rows.append((*key, n, *(None if row is None else row.value for row in values)))
    columns = (
        *(Column(name, "text") for name in ("paraphraser", "run", "dataset", "lang")), Column("texts", decimals=0),
        *(Column(measure, decimals=3) for measure in measures),
    )  # fmt: skip
    return ColumnTable("paraphrase_quality", "What came of the texts", columns, tuple(rows))
