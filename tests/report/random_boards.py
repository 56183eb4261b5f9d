"""Verdicts of random runs on a board, each with the tables that its claims are held against."""

from __future__ import annotations

from collections import Counter

from claims import Tables
from embassay.document.blocks import VerdictText
from embassay.protocols.hteb.options import AXES
from embassay.protocols.hteb.profiles import TOTAL, format_axis_part_name
from embassay.protocols.kernel.claims import Claim
from embassay.report.calibration.thresholds import calibration_verdict
from embassay.report.cards.findings import list_findings_of_tasks_ranked_last, list_first_rank_findings
from embassay.report.hteb.profile import hteb_verdict
from embassay.report.overview import board_verdict
from embassay.report.pteb.conclusions import pteb_verdict
from embassay.report.pteb.models import judge_verdict
from embassay.report.rag.questions import make_right_answer_share_verdict
from embassay.report.sage.tables import sage_verdict

from .random_runs import Drawn, ends_of

Made = tuple[VerdictText, Tables]


def of_board(kind: str, seed: int) -> Made:
    """The verdict of a board."""
    drawn = Drawn(kind, seed)
    run = drawn.run()
    return board_verdict(run.record, run.board), drawn.tables()


def of_cards(seed: int) -> Made:
    """What the cards of all systems say of their places."""
    drawn = Drawn("sage", seed)
    run = drawn.run()
    found = [
        finding
        for row in run.board.rows
        if row.system.ranked
        for of in (list_first_rank_findings, list_findings_of_tasks_ranked_last)
        for finding in of(run, row)
    ]
    claims = tuple(claim for finding in found for claim in finding.claims)
    return VerdictText((), tuple(finding.format_clause_as_sentence for finding in found), claims), drawn.tables()


def of_sage(seed: int) -> Made:
    """SAGE's page: how often noise stays above changed meaning, and who may be first on which task."""
    drawn = Drawn("sage", seed)
    shares: dict[str, float] = {}
    has_shares = drawn.rng.random() < 0.7
    for name in drawn.names if has_shares and "robustness" in drawn.tasks else ():
        for dataset in drawn.datasets:
            share = float(drawn.rng.choice([0, 0.1, 0.5, 0.6, 1.0]))
            drawn.row("robustness", name, "share", share, dataset=dataset, variant="superficial_over_semantic")
            shares[name] = max(share, shares.get(name, 0.0))
    run = drawn.run()
    counts = {"noise": (sum(share > 0.5 for share in shares.values()), len(shares)), "leaders": (0, len(drawn.tasks))}
    tables = drawn.tables(values={"share": shares}, counts=counts, closed=frozenset({"share"}))

    return sage_verdict(run.record, run.board), tables


def of_pteb(seed: int) -> Made:
    """Points that are lost or gained, over all and by dataset; places before and after."""
    drawn = Drawn("pteb", seed)
    lead = "overall" if drawn.has_overall else next(iter(drawn.tasks))
    changes: dict[str, tuple[float, float | None, float | None]] = {}
    cells: dict[str, float] = {}
    for name in drawn.names:
        for task in drawn.headlines:
            if drawn.headlines[task][name].value is None:
                continue
            change = round(float(drawn.rng.normal(-0.02, 0.03)), 3) if drawn.rng.random() < 0.9 else 0.0
            low, high = ends_of(drawn.rng, change)
            drawn.row(task, name, "delta", change, low, high)
            if task == lead:
                changes[name] = (change, low, high)
            for dataset in drawn.datasets if task in drawn.tasks else ():
                own = round(float(drawn.rng.normal(-0.02, 0.03)), 3)
                drawn.row(task, name, "delta", own, dataset=dataset)
                cells[name] = min(own, cells.get(name, 0.0))
    order = drawn.scopes[lead]["systems"]
    before = drawn.rng.permutation(len(order)).tolist() if drawn.rng.random() < 0.7 else list(range(len(order)))
    tau = float(drawn.rng.uniform(-1, 1))
    if len(order) > 1:
        drawn.compared["rank_stability"] = {
            lead: {"tau_original": tau, "original_rank": before, "rank": list(range(len(order)))}
        }
    run = drawn.run()
    # The leading scope of a board is the first task that somebody finished, where there is no overall.
    if run.board.lead != lead:
        return board_verdict(run.record, run.board), drawn.tables()
    fall = sum(change < 0 for change, _, _ in changes.values())
    lost = sum(high is not None and high < 0 for _, _, high in changes.values())
    gained = sum(low is not None and low > 0 for _, low, _ in changes.values())
    of = len(changes)
    moved = sum(a != b for a, b in zip(before, range(len(order)), strict=True))
    counts = {"fall": (fall, of), "lost": (lost, of), "gained": (gained, of), "moved": (moved, len(order))}

    def largest(claim: Claim) -> bool:
        """The largest loss of all systems on one dataset."""
        return claim.value == min(cells.values()) == cells[claim.subject]

    tables = drawn.tables(
        values={"delta": {name: change for name, (change, _, _) in changes.items()}, "tau": {"": tau}},
        intervals={"delta": {name: ends for name, (_, *ends) in changes.items()}},
        counts=counts,
        own={f"{dataset} ({task})": largest for dataset in drawn.datasets
             for task in ("STS", "Classification", "Retrieval")},
    )  # fmt: skip
    tables.intervals["delta"].update({name: tuple(ends) for name, ends in tables.intervals["delta"].items()})  # type: ignore[attr-defined]

    return pteb_verdict(run.record, run.board), tables


def of_hteb(seed: int) -> Made:
    """On which axis most is lost, whose total is the highest, how many losses are certain."""

    drawn = Drawn("hteb", seed)
    sources = [{"name": name} for name in ("paraphrasing", "expansion", "summarise", "translation")]
    n, failed = int(drawn.rng.integers(1, 50)), int(drawn.rng.choice([0, 3]))
    outcomes = {"sea": {"1": {"ok": n, "copied": 2, **({"failed": failed} if failed else {})}}}
    drawn.manifest["transformations"] = {"sources": [{**source, "outcomes": outcomes} for source in sources]}
    axes: dict[str, dict[str, tuple[float, float | None, float | None]]] = {}
    totals: dict[str, float] = {}
    for name in drawn.names:
        of = {axis: round(float(drawn.rng.normal(-0.02, 0.04)), 3) for axis in AXES if drawn.rng.random() < 0.9}
        axes[name] = {axis: (value, *ends_of(drawn.rng, value)) for axis, value in of.items()}
        for axis, (value, low, high) in axes[name].items():
            drawn.row("overall", name, "delta", value, low, high, variant=format_axis_part_name(axis))
        totals[name] = round(float(drawn.rng.uniform(0, 1)), 2)
        drawn.row("overall", name, "overall", totals[name], variant=TOTAL)
        drawn.row("overall", name, "delta", -0.01, variant=TOTAL)
    run = drawn.run()
    parts = set(AXES)  # which of them the run shows is the page's business
    scored = {name: own for name, own in axes.items() if own}
    whole = max(map(len, scored.values()), default=0)
    worst: Counter[str] = Counter()
    for own in scored.values():
        axis = min(own, key=lambda key: own[key][0])
        if len(own) == whole and own[axis][0] < 0:
            worst[axis] += 1
    most = max(worst.values(), default=0)
    ends = [high for own in scored.values() for _, _, high in own.values()]
    sure = sum(high is not None and high < 0 for high in ends)

    def on_axis(claim: Claim) -> bool:
        return (claim.n, claim.of) == (worst[claim.kind], len(scored)) and claim.n == most

    known = {name: total for name, total in totals.items() if name in scored}
    tables = drawn.tables(
        values={"overall": known}, intervals={"overall": {}}, closed=frozenset({"overall"}),
        counts={
            "certain losses": (sure, len(ends)), "failed texts": (4 * failed, 4 * (n + 2 + failed)),
        },
        own=dict.fromkeys(parts, on_axis),
    )  # fmt: skip
    return hteb_verdict(run.record, run.board), tables


def of_calibration(seed: int) -> Made:
    """Which threshold keeps what was asked, on how many datasets, and where probabilities are furthest off."""

    drawn = Drawn("calibration", seed)
    drawn.tasks = {"pairs": "skill"}
    drawn.manifest["arguments"] = {"options": {"precision": 0.9, "confidence": 0.95, "recall": 0.9}}
    thresholds: dict[str, dict[str, float | None]] = {}
    recalls: dict[tuple[str, str], float] = {}
    gaps: dict[str, list[tuple[str, float]]] = {}
    for name in drawn.names:
        if drawn.headlines["pairs"][name].value is None:
            continue
        for dataset in drawn.datasets:
            value = round(float(drawn.rng.uniform(0.2, 1)), 3) if drawn.rng.random() < 0.5 else None
            thresholds.setdefault(name, {})[dataset] = value
            drawn.row("pairs", name, "threshold", value, dataset=dataset, variant="precision")
            recalls[name, dataset] = float(drawn.rng.uniform(0, 1))
            drawn.row("pairs", name, "sample_recall", recalls[name, dataset], dataset=dataset, variant="precision")
            for part in ("short texts", "long texts", "numbers"):
                off = round(float(drawn.rng.normal(0, 0.08)), 2)
                drawn.row("pairs", name, "gap", off, dataset=dataset, subset=part)
                gaps.setdefault(name, []).append((part, off))
    run = drawn.run()
    held = {name: [v for v in own.values() if v is not None] for name, own in thresholds.items()}
    known = [name for name in drawn.names if name in held]

    def promise(claim: Claim) -> bool:
        if claim.relation == "misses":
            return not any(held.values()) and claim.of == len(known)
        own = held[claim.subject]
        best = max(len(values) for values in held.values())
        is_value = claim.value is None or claim.value == own[0]
        return (claim.n, claim.of) == (len(own), len(drawn.datasets)) and len(own) == best and is_value

    def recall(claim: Claim) -> bool:
        return claim.value == recalls[claim.subject, claim.kind]

    def furthest(claim: Claim) -> bool:
        subject = next(one.subject for one in verdict.claims if one.kind == "promise")
        most = max(abs(off) for _, off in gaps[subject])
        return abs(claim.value) == most and (claim.subject, claim.value) in gaps[subject]

    verdict = calibration_verdict(run.record, run.board)
    values = {"skill": drawn.tables().values["pairs"]}
    tables = drawn.tables(
        values=values, intervals={"skill": drawn.tables().intervals["pairs"]},
        own={"promise": promise, "sample_recall": recall, "distance of probability": furthest},
    )  # fmt: skip
    return verdict, tables


def of_answers(seed: int) -> Made:
    """Which run's passages lead to right answers."""

    drawn = Drawn("answer", seed)
    tables = drawn.tables()
    shown = {"accuracy": tables.values["answer"]}
    tables = drawn.tables(values=shown, pairs={"accuracy": tables.pairs["answer"]})
    return make_right_answer_share_verdict(drawn.run().record), tables


def of_judge(seed: int) -> Made:
    """Which judge agrees best with gold scores."""

    drawn = Drawn("judge", seed)
    run = drawn.run()
    tables = drawn.tables()
    shown = {"spearman": {**tables.values["judge"]}}
    floors = {"judge": -1.0}
    return judge_verdict(run.record, run.board), drawn.tables(
        values=shown, floors=floors, intervals={"spearman": tables.intervals["judge"]}
    )
