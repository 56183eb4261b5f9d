"""What to know before trusting a HUME score: who answered, how well they agree, what failed, how few items."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from embassay.protocols import numbers
from embassay.protocols.hume.summary.record import PairRecord, Summary
from embassay.report.hume.words import pair_names
from embassay.report.names import labels
from embassay.report.record import FEW

NoteParts = tuple[str, str, str, str]
SMALL = 30


def hume_notes(summary: Summary) -> Iterator[NoteParts]:
    """Kind, what, consequence and mend of every note, the gravest first."""
    yield from _simulated(summary)
    yield from _failed(summary)
    yield from _noise(summary.pairs)
    yield from _alone(summary.pairs)
    yield from _few(summary.pairs)
    yield from _flagged(summary.pairs)
    yield from _of_datasets(summary.pairs)
    for note in summary.notes:
        yield "warning", note, "", ""


def _of_datasets(pairs: Sequence[PairRecord]) -> Iterator[NoteParts]:
    """What is known of the data, once for all pairs that it is known of."""
    where: dict[str, list[PairRecord]] = {}
    for pair in pairs:
        for flag in pair.flags:
            where.setdefault(flag.rstrip("."), []).append(pair)
    for flag, own in where.items():
        yield "warning", f"{pair_names(own)}: {flag}.", "", ""


def _simulated(summary: Summary) -> Iterator[NoteParts]:
    scripts = {one.id for pair in summary.pairs for one in pair.annotators if one.kind == "simulated"}
    people = {one.id for pair in summary.pairs for one in pair.annotators if one.kind == "person"}
    if scripts:
        every = "All" if not people else f"{len(scripts)} of {len(scripts) + len(people)}"
        yield (
            "simulated",
            f"{every} annotators are simulated: scripts answered, not people.",
            "Their scores show that the measurement works; they say nothing about people.",
            "Have people annotate: embassay hume serve.",
        )


def _failed(summary: Summary) -> Iterator[NoteParts]:
    scores = [one for pair in summary.pairs for one in (*pair.models, *pair.llms)]
    label = labels(tuple(dict.fromkeys(one.system for one in scores)))
    lost: dict[str, int] = {}
    for one in scores:
        if one.failed:
            lost[one.system] = lost.get(one.system, 0) + one.failed
    for system, count in lost.items():
        yield (
            "partial",
            f"{numbers.counted(count, 'answer')} of {label[system]} could not be read or did not come.",
            "A label then counts as wrong, a rating or ranking is left out.",
            "The same annotate command asks again.",
        )
    missing = [
        (pair, one) for pair in summary.pairs for one in (*pair.models, *pair.llms) if one.score.value is None
    ]
    for pair, one in missing[:4]:
        why = one.score.reason.rstrip(".") or "no reason was recorded"
        yield (
            "failed",
            f"{label[one.system]} has no score on {pair.name} ({why}).",
            "It has no mean over all pairs.",
            "",
        )
    if len(missing) > 4:
        yield "failed", f"{len(missing) - 4} more scores are missing.", "", ""


def _noise(pairs: Sequence[PairRecord]) -> Iterator[NoteParts]:
    noisy = [one for one in pairs if one.superhuman_on_noise]
    low = [one for one in pairs if one.trust == "low" and not one.superhuman_on_noise]
    if noisy:
        one = "a model is above annotators who agree little"
        yield (
            "noise",
            f"On {_on(noisy)} {one}: {pair_names(noisy, 5)}.",
            "It may have learned labels that they do not share: that is no sign of a better model.",
            noisy[0].advice or "Improve the task or drop it.",
        )
    if low:
        yield (
            "noise", f"Annotators agree little on {_on(low)}: {pair_names(low, 5)}.",
            "The order of models means little there.", low[0].advice or "Improve the task or drop it.",
        )  # fmt: skip


def _alone(pairs: Sequence[PairRecord]) -> Iterator[NoteParts]:
    alone = [one for one in pairs if len(one.annotators) == 1]
    if alone:
        of = f"{len(alone)} of {numbers.counted(len(pairs), 'pair')}"
        named = f" ({pair_names(alone)})" if len(alone) <= 4 else ""
        shares = any(one.family in ("clustering", "reranking") and one.human.low is not None for one in alone)
        yield (
            "one annotator",
            f"{of} {'has' if len(alone) == 1 else 'have'} one annotator{named}.",
            "Agreement is unknown there"
            + ("; for clustering and reranking the interval treats the score as a share." if shares else "."),
            "Two or more people are needed.",
        )


def _few(pairs: Sequence[PairRecord]) -> Iterator[NoteParts]:
    tiny = [one for one in pairs if one.n < FEW]
    small = [one for one in pairs if FEW <= one.n < SMALL]
    for found, follows in ((tiny, "Too few to set models against people."), (small, "Intervals are wide.")):
        if found:
            least = min(one.n for one in found)
            yield (
                "small n", f"{_on(found).capitalize()} with few items (n = {least} at least): {pair_names(found)}.",
                follows, "Use more items where you can.",
            )  # fmt: skip


def _flagged(pairs: Sequence[PairRecord]) -> Iterator[NoteParts]:
    count = sum(one.flagged for pair in pairs for one in pair.annotators)
    if count:
        yield (
            "flagged", f"Annotators flagged {numbers.counted(count, 'answer')} as broken or not to be judged.",
            "They stand in the study’s annotations with reasons.", "Look at them before you trust the gold.",
        )  # fmt: skip


def _on(pairs: Sequence[PairRecord]) -> str:
    return numbers.counted(len(pairs), "pair")
