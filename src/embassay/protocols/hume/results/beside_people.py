"""Systems and language models beside people, on the items that count in the human score."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

import numpy as np

from embassay.protocols.hume.beyond.against_people import against_people
from embassay.protocols.hume.beyond.among import among_people
from embassay.protocols.hume.beyond.drawn import Floats
from embassay.protocols.hume.beyond.paired import Compared, compare_with_people
from embassay.protocols.hume.beyond.people import people_rows, row_score
from embassay.protocols.hume.beyond.resampling import CORRELATION, SHARE, no_interval, resampled
from embassay.protocols.hume.published.standing import percent_of_human
from embassay.protocols.hume.results.bars import as_bar, known, no_bar
from embassay.protocols.hume.results.contestants import Contestant, on_items
from embassay.protocols.hume.results.counting import Counting
from embassay.protocols.hume.scoring.interval import is_outside
from embassay.protocols.hume.summary.record import Bar, SystemScore


def beside_people(counting: Counting, contestants: Sequence[Contestant]) -> list[SystemScore]:
    """Every one of them: its score, whether it is outside the interval of people, the difference on the same items,
    and its score with people's answers for gold."""
    able = on_items(contestants, counting.counted.items)
    values = {one.system: one.values for one in able}
    compared = compare_with_people(counting.counted, values, counting.draws)
    return [_beside(counting, one, compared.get(one.system)) for one in contestants]


def alone(one: Contestant) -> SystemScore:
    """A system where there is nobody to compare it with."""
    return SystemScore(system=one.system, kind=one.kind, score=one.score, failed=one.failed, notes=one.notes)


def _beside(counting: Counting, own: Contestant, compared: Compared | None) -> SystemScore:
    score = _on_counted(counting, own)
    if score.value is None or compared is None:
        return alone(own).model_copy(update={"score": score})
    people = counting.people.per_annotator()
    return alone(own).model_copy(
        update={
            "score": score,
            "outside": is_outside(score.value, counting.human),
            "percent_of_human": percent_of_human(score.value, counting.human.estimate),
            "difference": as_bar(compared.difference),
            "p": known(compared.difference.p),
            "among_people": among_people(score.value, people).estimate,
            "against_people": as_bar(against_people(counting.everybody, own.answers, counting.draws)),
        }
    )


def _on_counted(counting: Counting, own: Contestant) -> Bar:
    """The score on the items that count: that of the cell, with its interval, where these are all."""
    if own.score.value is None or (own.kind != "llm" and not counting.omits):
        return own.score
    items = [item for item in counting.counted.items if item in own.values]
    if not items:
        return no_bar("no item that people answered")
    spec, gold = counting.of.task.spec, people_rows(counting.counted, items).gold
    row = [own.values[item] for item in items]

    def score(counts: Floats) -> Floats:
        return row_score(spec, gold, row, counts)

    if spec.family == "clustering":
        found = no_interval(float(score(np.ones((1, len(items))))[0]), len(items), "")
    else:
        within = (CORRELATION if spec.family == "sts" else SHARE,)
        found = resampled(score, len(items), counting.draws, within=within)[0]
    said = ", ".join(filter(None, (re.sub(", bootstrap over .*", "", own.score.method), found.method)))
    # Of several runs of a language model the score is the mean over runs, not that of mean answers.
    value = found.estimate if counting.omits else own.score.value
    return Bar(
        value=known(value), low=known(found.low), high=known(found.high), n=len(items), method=said,
        reason="" if not math.isnan(value) else found.reason or "the value is undefined",
    )  # fmt: skip
