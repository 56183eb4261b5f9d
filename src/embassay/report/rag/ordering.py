"""How sure the order of the passages is: what the engine claims against its targets, and why it stopped."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import mean

from embassay.errors import UsageError
from embassay.protocols import numbers
from embassay.protocols.rag.golden.summary import Golden
from embassay.report.matrix import Entry, Line, Matrix
from embassay.report.rag.words import CLAIMS, DOUBTS, STOPPED

COLUMNS = ("Mean", "Lowest", "Highest", "Stops at", "Reached by")


def claims(golden: Golden) -> Matrix | None:
    """A row per claim: mean, lowest and highest over questions, and the target; None where nothing is claimed."""
    done = [one.claims for one in golden.queries if one.status == "done" and one.claims]
    wanted, rows = targets(golden.settings.ranking), []
    for name, words in CLAIMS.items():
        values = [one[name] for one in done if name in one]
        if values:
            rows.append(_claim(words.format(top=golden.settings.top), values, wanted.get(name)))
    if not rows:
        return None
    return Matrix(
        "claims", "What the engine expects of its orders", "Expected", COLUMNS, tuple(rows), is_sorted=True
    )


def targets(engine: str) -> Mapping[str, float]:
    """What the engine's claims must reach before it stops; none for engines that claim nothing."""
    from embassay.protocols.rag.ranking.bayes.options import Options
    from embassay.spec import COLON

    try:
        spec = COLON.parse(engine)
        found = Options(**dict(spec.params)) if spec.name == "bayes" else None  # type: ignore[arg-type]
    except (UsageError, TypeError, ValueError):
        found = None
    if found is None or not found.stop:
        return {}
    return {"set_errors_at_most_1": found.surely, "overlap": found.overlap, "tau": found.tau}


def _claim(title: str, values: Sequence[float], target: float | None) -> Line:
    figures = (mean(values), min(values), max(values))
    cells = [Entry(numbers.score(one), exact=f"{one:.6g}") for one in figures]
    if target is None:
        return Line(title, (*cells, Entry(numbers.NONE), Entry(numbers.NONE)))
    reached = sum(one >= target for one in values)
    told = Entry(f"{reached} of {len(values)}", exact=str(reached))
    return Line(title, (*cells, Entry(numbers.score(target, 2), exact=f"{target:g}"), told))


def stops(golden: Golden) -> str:
    """Why the engine asked no more, with how many questions each reason holds for."""
    ranking = golden.ranking
    if ranking is None or not ranking.stopped:
        return ""
    parts = [
        f"{STOPPED.get(word, word)} ({numbers.counted(n, 'question')})" for word, n in ranking.stopped.items()
    ]
    return f"It stopped because: {', '.join(parts)}."


def doubts(golden: Golden) -> str:
    """For how many questions nothing is claimed, and what was found of the judge; empty where there are none."""
    ranking = golden.ranking
    if ranking is None or not ranking.doubts:
        return ""
    done = [one for one in golden.queries if one.status == "done"]
    none = sum(bool(one.doubts) for one in done)
    found = "; ".join(DOUBTS.get(word, word) for word in ranking.doubts)
    head = f"Nothing is claimed of the order of {none} of {numbers.counted(len(done), 'question')}"
    return f"{head}, and none of them was stopped early, because the judge's answers forbid it: {found}."
