"""The finding as a sentence, made from the same record as the table, and what must be read with care."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from embassay.protocols.kernel import tables as numbers
from embassay.protocols.kernel.comparisons import ALPHA, CLASSICAL, OVERALL, untold
from embassay.protocols.kernel.tables import Unit
from embassay.web.leaderboard.contract import Column, Run, Verdict
from embassay.web.leaderboard.ranking import Tested
from embassay.web.leaderboard.table import Joined, Member

_LONGEST = 80
_MOST_NAMED = 4
_FEW = 10


def verdict(board: Joined, members: Sequence[Member], tests: Tested, labels: Mapping[str, str]) -> Verdict:
    """Who may be first on the leading column."""
    lead = board.lead
    ranked = [one for one in members if one.complete and one.group == ""]
    if lead is None or not ranked:
        return _unfinished(board)
    on = "" if lead.task == OVERALL else f" on {lead.title}"
    names = [labels[one.name] for one in ranked]
    values = [_said(one, lead) for one in ranked]
    if len(ranked) == 1:
        return Verdict(
            f"{_cut(names[0])} scores {values[0]}{on or ' overall'}", "Add a second system to compare."
        )
    first = [labels[one.name] for one in ranked if tests.ranks.get(one.name, (0, 0))[0] == 1]
    if not first:
        lede = f"Values lie between {values[-1]} and {values[0]}. No test compares them ({tests.reason})."
        return Verdict(f"No ranking{on}: differences cannot be tested", lede)
    alone = len(first) == 1 and tests.ranks[ranked[0].name] == (1, 1)
    others = (
        "system" if not any(one.complete and one.group == CLASSICAL for one in members) else "embedding model"
    )
    if alone:
        return Verdict(
            f"{_cut(first[0])} beats every other {others}{on}", _lede(names, values, tests, _unit(lead))
        )
    return Verdict(_title(first, len(ranked), on), _lede(names, values, tests, _unit(lead)))


def care(board: Joined, members: Sequence[Member], runs: Sequence[Run], broken: int) -> tuple[str, ...]:
    """What a reader must know before the table, each with its count and consequence."""
    return tuple(_care(board, members, runs, broken))


def simulated(board: Joined) -> str:
    """`All` or `Some` where scripts stand in for people, else nothing."""
    return next((run.scripts for run in board.runs if run.scripts), "")


def _title(first: Sequence[str], ranked: int, on: str) -> str:
    if len(first) == 1:
        return f"Only {_cut(first[0])} may be first{on}"
    if len(first) == ranked:
        every = "both" if ranked == 2 else f"all {numbers.in_words(ranked)}"
        return f"No system stands out{on}: {every} may be first"
    named = f"{', '.join(first[:-1])} and {first[-1]} may be first{on}"
    if len(first) <= 3 and len(named) <= _LONGEST:
        return named
    return f"{numbers.in_words(len(first)).capitalize()} systems may be first{on}"


def _lede(names: Sequence[str], values: Sequence[str], tests: Tested, unit: Unit) -> str:
    if tests.gap is None:
        return ""
    one = tests.gap
    if one.low == one.high:
        alike = (
            f"both score {values[0]}"
            if abs(one.difference) < 1e-12
            else f"differ by {unit.said(one.difference)}"
        )
        return f"{names[0]} and {names[1]} {alike} in every resample: nothing is tested."
    gap = f"{unit.said(one.difference)} (95% interval {unit.said_interval(one.low, one.high)})"
    if one.p_adjusted < ALPHA:
        return f"{names[0]} {values[0]} beats {names[1]} {values[1]}, the next, by {gap}."
    apart = untold(one.p, one.p_adjusted, one.systems)
    return f"{names[0]} {values[0]} and {names[1]} {values[1]} differ by {gap} and {apart}."


def _unfinished(board: Joined) -> Verdict:
    work = [one for run in board.runs for one in run.work]
    done = sum(one.status == "done" for one in work)
    cells = f"{numbers.count(done)} of {numbers.counted(len(work), 'cell')}"
    if not done:
        return Verdict("Nothing finished yet", f"{cells}. This page fills as cells end.")
    return Verdict(
        "No system has finished every task, so none is ranked",
        f"{cells} are finished. This page fills as cells end.",
    )


def _care(board: Joined, members: Sequence[Member], runs: Sequence[Run], broken: int) -> Iterator[str]:
    if scripts := simulated(board):
        yield f"{scripts} annotators are simulated: scripts answered. Their scores say nothing about people."
    failed = [one for member in members for one in member.entrant.work if one.status == "failed"]
    if failed:
        where = f"{failed[0].system} on {failed[0].task}, {failed[0].dataset}"
        more = f" and {numbers.count(len(failed) - 1)} more" if len(failed) > 1 else ""
        yield f"{numbers.counted(len(failed), 'cell')} failed: {where}{more}. Such a system has no rank."
    waiting = [one for one in members if not one.complete and one.group != "reference"]
    if waiting and not failed:
        what = "system is" if len(waiting) == 1 else "systems are"
        yield f"{numbers.count(len(waiting))} {what} not complete: without a rank, below the others."
    stale = [one.name for one in runs if one.status == "stale"]
    if stale:
        yield f"Nothing was heard of {_named(stale)} for long: it says that it runs, and may have been killed."
    twice = [one.name for one in members if one.entrant.others]
    if twice:
        who = "is" if len(twice) == 1 else "are"
        yield (
            f"{numbers.counted(len(twice), 'system')} {who} in several runs of this version: the newest finished one "
            "counts."
        )
    few = [one for one in board.overview if 0 < _items(members, one) < _FEW and one.task != OVERALL]
    if few and board.kind != "mteb":  # there n counts the tasks of a mean
        yield f"Under {_FEW} items stand behind {_named([one.title for one in few])}: too few to rely on their ranks."
    codes = {str(run.manifest.get("embassay") or "") for run in board.runs}
    if len(codes) > 1:
        yield f"The runs were made by {numbers.in_words(len(codes))} versions of Embassay: {', '.join(sorted(codes))}."
    if broken:
        yield f"{numbers.counted(broken, 'folder')} cannot be read and {'is' if broken == 1 else 'are'} left out."


def _items(members: Sequence[Member], column: Column) -> int:
    return max((one.cells[column.key].n for one in members), default=0)


def _named(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return ", ".join(names[:_MOST_NAMED]) + (f" and {numbers.count(more)} more" if more > 0 else "")


def _said(member: Member, column: Column) -> str:
    return _unit(column).said(member.cells[column.key].value or 0.0)


def _unit(column: Column) -> Unit:
    return Unit(column.factor, column.decimals, 1 if column.unit == "points" else column.decimals)


def _cut(label: str) -> str:
    return label if len(label) <= 44 else label[:43] + "…"
