"""Verdicts of random choices, studies with people, golden sets, probes, comparisons and leaderboards, each with the
tables that its claims are held against."""

from __future__ import annotations

from pathlib import Path
from statistics import median
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
from scipy.stats import spearmanr

from claims import Tables, Tested
from embassay.data.judged_runs import read_entries_in_memory
from embassay.document.blocks import VerdictText, convert_sentence_to_text
from embassay.protocols.choose.belief import SystemScoreBelief
from embassay.protocols.choose.conclusions import (
    SystemAnswers,
    conclude_best_system_choice,
    make_choice_record,
    make_choice_rows,
)
from embassay.protocols.choose.questions import FAMILIES
from embassay.protocols.compare import compare_systems, list_ranked_system_groups
from embassay.protocols.gate import iterate_score_threshold_verdicts
from embassay.protocols.hume.record import DatasetLanguageRecord
from embassay.protocols.hume.results.markdown import list_verdict_findings
from embassay.protocols.kernel.claims import Claim
from embassay.protocols.kernel.comparisons import OVERALL, RANKED, REFERENCE, SystemStanding
from embassay.protocols.rag.decision.course import DecisionSettings, find_study_state_from_labels
from embassay.protocols.rag.decision.population import make_comparison_items_of_runs
from embassay.protocols.rag.decision.protocol import make_decision_study_record
from embassay.protocols.rag.golden.summary import (
    GoldenQuerySummary,
    GoldenRunRecord,
    GoldenRunSettings,
    RankingEngineRunSummary,
)
from embassay.protocols.rag.probes.bundles import CONDITIONS
from embassay.protocols.rag.probes.names import HEADLINE, PERCENT
from embassay.protocols.rag.probes.noise import RECOVERED, SHARE
from embassay.protocols.rag.probes.questions import NOISIEST, name_noise_level
from embassay.protocols.rag.probes.resampling import RECALL
from embassay.protocols.run_values import ComparableRun
from embassay.protocols.thresholds import RequiredResultScore as Threshold
from embassay.protocols.thresholds import ResultsForThresholds
from embassay.records import ResultRow
from embassay.report.board import build_record_board
from embassay.report.hume.conclusions import describe_hume_verdict
from embassay.report.mteb import mteb_verdict
from embassay.report.pteb.models import make_paraphrase_validation_verdict
from embassay.report.rag.choice import choice_verdict
from embassay.report.rag.decision import make_decision_study_terminal_blocks
from embassay.report.rag.golden import describe_golden_verdict as golden_verdict
from embassay.report.rag.name_probe import MASK, name_probe_verdict
from embassay.report.rag.probes import noise_verdict
from embassay.report.rag.questions import describe_questions_verdict as make_question_count_verdict
from embassay.report.record import RunRecord, SystemOfRun, index_rows_by_key
from embassay.report.terminal import compared_pair_view, gate_verdicts_view, ranked_groups_view
from embassay.stats import Estimate, compare_replicates
from embassay.web.leaderboard.board import board_verdict as leaderboard_verdict
from embassay.web.leaderboard.ranking import compute_pair_tests_of_column
from stub.ranked import qrels
from stub.ranked import run as ranked

from .hume_run import pair, summary, system
from .random_boards import Made
from .random_runs import NAMES, Drawn, ends_of

EMPTY = RunRecord(Path("made"), {"protocol": "rag"}, (), (), {}, {})


def record_of(kind: str, rows: list[ResultRow], names: tuple[str, ...], **more: Any) -> RunRecord:
    """A record of such rows."""
    systems = tuple(SystemOfRun(i, name, "embedding" if i % 2 else "classical") for i, name in enumerate(names))
    manifest = {"protocol": "rag", "kind": kind, "arguments": {"options": {"tolerance": 0.03}}}
    return RunRecord(Path("made"), manifest, systems, (), index_rows_by_key(rows), {}, **more)


def of_choice(seed: int) -> Made:
    """A choice among random answers: the belief is that of the shipped weights."""
    rng = np.random.default_rng([seed, 44])
    names = NAMES[: int(rng.integers(2, 5))]
    asked, judged = int(rng.choice([5, 60, 120])), int(rng.choice([0, 0, 10, 60]))
    skill = rng.uniform(0, 1, len(names))
    answers = {
        name: SystemAnswers(
            {
                family: {f"q{i}": int(rng.integers(1, 4)) if rng.random() < level else 0 for i in range(asked)}
                for family in FAMILIES
            },
            {f"u{i}": float(np.clip(rng.normal(level, 0.3), 0, 1)) for i in range(judged)},
            {"sentence": {f"q{i}": frozenset(rng.choice(30, 10).astype(str).tolist()) for i in range(5)}},
        )
        for name, level in zip(names, skill, strict=True)
    }
    found = conclude_best_system_choice("sea", "en", answers, 0.03, seed)
    choice, belief = make_choice_record(found), cast(SystemScoreBelief, found.belief)
    record = record_of("choose", list(make_choice_rows(found, seed)), names, compared={"choice": {"sea": choice}})
    p_best = dict(zip(names, belief.best.tolist(), strict=True))
    p_near = dict(zip(names, belief.near(0.03).tolist(), strict=True))
    regret = {
        **dict(zip(names, belief.expected_regrets.tolist(), strict=True)),
        "": float(belief.expected_regrets.mean()),
    }

    def least(claim: Claim) -> bool:
        """Of all systems; the one to use loses no more than the tolerance."""
        own = claim.relation == "is" or all(regret[claim.subject] <= regret[name] for name in names)
        return own and claim.value == regret[claim.subject] and (not claim.margin or claim.value <= claim.margin)

    def labels(claim: Claim) -> bool:
        """The first number of labels that is likely enough to decide, or the last that was tried."""
        after = found.labels.chances
        enough = [n for n, value in after.items() if value >= claim.margin]
        told = claim.n == (enough[0] if enough else max(after)) and claim.value == after[claim.n]
        return (claim.relation == "keeps") == bool(enough) and told

    tables = Tables(
        {"p_best": p_best, "p_near": p_near, "expected_regret": regret}, closed=frozenset({"p_best"}),
        own={
            "use": least, "expected_regret": least, "random pick": least, "chance_with_labels": labels,
            "as good": lambda claim: p_near[claim.subject] >= claim.margin,
            "chance": lambda claim: (claim.relation == "keeps") == (p_best[claim.subject] >= claim.margin),
        },
    )  # fmt: skip
    return choice_verdict(record, build_record_board(EMPTY)), tables


class DrawnStudy:
    """People and models on some pairs, with one annotator, low agreement, no interval, ties; and what follows of the
    drawn scores."""

    def __init__(self, seed: int) -> None:
        rng = np.random.default_rng([seed, 45])
        self.names = NAMES[: int(rng.integers(1, 4))]
        self.pairs = tuple(_random_pair(rng, self.names, place) for place in range(int(rng.integers(1, 5))))
        self.summary = summary("made", "study", self.pairs, {})
        self.people = {record.name: record.human.value or 0.0 for record in self.pairs}
        self.scores = {record.name: [_score(record, name) for name in self.names] for record in self.pairs}
        self.gaps = {name: self.people[name] - max(self.scores[name]) for name in self.people}
        self.means = {name: float(np.mean([_score(record, name) for record in self.pairs])) for name in self.names}
        self.human = float(np.mean(list(self.people.values())))
        self.place = 1 + sum(mean > self.human + 1e-9 for mean in self.means.values())
        self.above = [record for record in self.pairs if _side(record) == "above"]

    @property
    def counts(self) -> dict[str, tuple[int, int]]:
        """What both pages count."""
        sides, of = [side for side in map(_side, self.pairs) if side], len(self.pairs)
        middle = sum(value - median(self.scores[name]) > 1e-9 for name, value in self.people.items())
        return {
            "above": (sides.count("above"), len(sides)), "below": (sides.count("below"), len(sides)),
            "low": (sum(record.trust == "low" for record in self.above), len(self.above)),
            "people above best": (sum(gap > 1e-9 for gap in self.gaps.values()), of),
            "people above median": (middle, of),
        }  # fmt: skip


def of_hume(seed: int) -> Made:
    """The page of a study with people."""
    drawn = DrawnStudy(seed)
    of = len(drawn.pairs)

    def placed(claim: Claim) -> bool:
        counted = (claim.n, claim.of) == (drawn.place, len(drawn.names) + 1)
        return abs((claim.value or 0.0) - drawn.human) < 1e-9 and counted

    counts = {
        **drawn.counts, "unknown": (sum(record.trust is None for record in drawn.above), len(drawn.above)),
        "pairs": (of, of), "scored": (of, of), "model ahead": (sum(gap < 0 for gap in drawn.gaps.values()), of),
    }  # fmt: skip
    tables = Tables(
        {"gap": drawn.gaps, "mean": drawn.means}, closed=frozenset({"gap", "mean"}), counts=counts,
        own={"place": placed},
    )  # fmt: skip
    return describe_hume_verdict(drawn.summary), tables


def _random_pair(rng: np.random.Generator, names: tuple[str, ...], place: int) -> DatasetLanguageRecord:
    value, n = round(float(rng.uniform(0.3, 0.95)), 2), int(rng.choice([4, 30, 60]))
    half = float(rng.choice([0.02, 0.1, 0.3]))
    bounded = rng.random() < 0.85
    human = Estimate(
        value=value, low=max(0.0, value - half) if bounded else None, high=value + half if bounded else None, n=n,
        method="Wilson",
    )  # fmt: skip
    agreed = float(rng.choice([-0.1, 0.3, 0.55, 0.9])) if rng.random() < 0.8 else None
    people = (value,) if agreed is None else (value, value)
    models = tuple(
        system(name, "embedding", value if rng.random() < 0.1 else round(float(rng.uniform(0.2, 1)), 2), human)
        for name in names
    )
    return pair(f"set{place}", "eng", "classification", human, people, agreed, models)


def _score(record: DatasetLanguageRecord, name: str) -> float:
    return next(model.score.value or 0.0 for model in record.models if model.system == name)


def _side(record: DatasetLanguageRecord) -> str:
    """Where the best model lies by the interval of people."""
    best = max(model.score.value or 0.0 for model in record.models)
    low, high = record.human.low, record.human.high
    if low is None or high is None:
        return ""
    return "above" if best > high else "below" if best < low else "inside"


def of_golden(seed: int) -> Made:
    """Questions that are done, failed or waiting, with and without claims of the engine."""
    rng = np.random.default_rng([seed, 46])
    total = int(rng.integers(1, 8))
    statuses = [str(rng.choice(["done", "failed", "waiting"])) for _ in range(total)]
    claims = {"overlap": float(rng.uniform(0.5, 1)), "set_errors_at_most_1": float(rng.uniform(0, 1))}
    queries = tuple(
        GoldenQuerySummary(
            f"q{i}", "Why?", f"q{i}", status, claims=claims if status == "done" and rng.random() < 0.6 else {},
            doubts=("noisy",) if status == "done" and rng.random() < 0.3 else (),
        )
        for i, status in enumerate(statuses)
    )  # fmt: skip
    done = [query for query in queries if query.status == "done"]
    any_claims, any_doubts = any(query.claims for query in done), any(query.doubts for query in done)
    good = float(rng.integers(0, 9)) if done else None
    none = int(rng.integers(0, len(done) + 1))
    ranking = RankingEngineRunSummary(
        "bayes", 36, 36.0, {}, claims if any_claims else {}, doubts={"noisy": 1} if any_doubts else {}
    )
    golden = GoldenRunRecord(
        GoldenRunSettings("c", "q", "wordllama", "rules", "judge", "bayes", 1), queries, ranking=ranking,
        labels={"grade4plus5_count_median": good, "queries_without_grade4plus5": none},
    )  # fmt: skip
    counts = {
        "done": (len(done), total), "failed": (statuses.count("failed"), total), "without good": (none, len(done)),
        "claimed": (sum(bool(query.claims) for query in done), len(done)),
        "nothing claimed": (sum(bool(query.doubts) for query in done), len(done)),
    }  # fmt: skip
    values = {name: {"bayes": value} for name, value in claims.items()}
    if good is not None:
        values["grade4plus5_count_median"] = {"the median question": good}
    return golden_verdict(golden), Tables(values, counts=counts)


def of_questions(seed: int) -> Made:
    """Questions of users, a model and the documents, some kinds of them not finished."""
    rng = np.random.default_rng([seed, 60])
    sources = ["users", "chat:writer", "documents"]
    asked = [{"source": str(rng.choice(sources))} for _ in range(int(rng.integers(0, 9)))]
    statuses = {
        kind: str(rng.choice(["done", "failed", "waiting"]))
        for kind in ("fact", "how", "keywords")[: int(rng.integers(0, 4))]
    }
    per_source = {name: [question["source"] for question in asked].count(name) for name in sources}
    counts = {
        "questions": (len(asked), len(asked)),
        "unfinished": (sum(status != "done" for status in statuses.values()), len(statuses)),
    }
    own = {"source": lambda claim: (claim.n, claim.of) == (per_source[claim.subject], len(asked))}
    verdict = make_question_count_verdict(asked, statuses)
    text = " ".join(map(convert_sentence_to_text, verdict.lede))
    for name, n in per_source.items():
        said = f"{100 * n / len(asked):.0f}% from " if n else ""
        assert said in text, f"{name}: {said}"
    return verdict, Tables(counts=counts, own=own)


def probe_row(
    kind: str, name: str, dataset: str, measure: str, value: float, *ends: float | None, variant: str = ""
) -> ResultRow:
    """A row of a probe."""
    low, high = ends or (None, None)
    return ResultRow("rag", kind, dataset, "", "en", variant, name, measure, value, 20, low, high, "b", 1)


def of_names(seed: int) -> Made:
    """Margins, what ablations take of them, and what masks leave."""
    rng = np.random.default_rng([seed, 47])
    names, datasets = NAMES[: int(rng.integers(1, 4))], ("sea", "river")[: int(rng.integers(1, 3))]
    rows: list[ResultRow] = []
    margins: dict[tuple[str, str], float] = {}
    moved: dict[str, list[float]] = {"identity": [], "form": []}
    masks: list[float] = []
    clear = rng.random() < 0.5
    for place, name in enumerate(names):
        for dataset in datasets:
            value = round(float(rng.normal(0.1, 0.05)), 3)
            margins[name, dataset] = value
            rows.append(probe_row("names", name, dataset, HEADLINE, value, *ends_of(rng, value)))
            mask = float(rng.choice([0.0, 0.0, 0.01]))
            masks.append(mask)
            rows.append(probe_row("names", name, dataset, HEADLINE, mask, variant=MASK))
            for variant, condition in CONDITIONS.items():
                group = "identity" if condition.group == "identity" else "form"
                percent = float(rng.uniform(-90, -50) if group == "identity" and clear else rng.uniform(-49, 20))
                rows.append(probe_row("names", name, dataset, PERCENT, percent, variant=variant))
                # Embedding models speak for the verdict where there are any: every second system is one.
                if variant != MASK and (place % 2 or len(names) < 2):
                    moved[group].append(abs(percent))
    record = record_of("names", rows, names)

    def margin(claim: Claim) -> bool:
        end = {"most": max, "least": min, "is": max}[claim.relation](margins.values())
        return claim.value == end == margins[claim.subject, claim.kind]

    def more(claim: Claim) -> bool:
        is_less = max(moved["form"]) < min(moved["identity"])
        return (claim.relation == "less") == is_less and claim.value == max(moved["form"])

    tables = Tables(counts={"masked": (masks.count(0.0), len(masks))}, own={HEADLINE: margin, PERCENT: more})
    return name_probe_verdict(record, build_record_board(EMPTY)), tables


def of_noise(seed: int) -> Made:
    """What small talk takes, what rewriting brings back, and whose recall falls."""
    rng = np.random.default_rng([seed, 48])
    names = NAMES[: int(rng.integers(1, 4))]
    rows: list[ResultRow] = []
    spoken = [name for place, name in enumerate(names) if place % 2] or list(names)
    shares: dict[str, float] = {}
    back: dict[str, float] = {}
    recalls: dict[str, tuple[float, float | None, float | None]] = {}
    noisiest = name_noise_level(NOISIEST)
    for name in names:
        shares[name] = round(float(rng.normal(10, 12)), 1)
        rows.append(probe_row("noise", name, "sea", SHARE, shares[name]))
        back[name] = float(rng.uniform(-0.2, 1))
        rows.append(probe_row("noise", name, "sea", RECOVERED, back[name], variant=name_noise_level(NOISIEST, "rules")))
        value = round(float(rng.normal(-0.05, 0.05)), 2)
        recalls[name] = (value, *ends_of(rng, value))
        rows.append(probe_row("noise", name, "sea", f"{RECALL} change", *recalls[name], variant=noisiest))
    record = record_of("noise", rows, names)
    of_models = [back[name] for place, name in enumerate(names) if place % 2]
    lowered = sum(shares[name] > 0 for name in spoken)

    def recovered(claim: Claim) -> bool:
        return (claim.low, claim.high) == (min(of_models), max(of_models))

    tables = Tables(
        {f"{RECALL} change": {name: value for name, (value, *_) in recalls.items()}},
        intervals={f"{RECALL} change": {name: (low, high) for name, (_, low, high) in recalls.items()}},
        counts={"lowered": (lowered, len(spoken))}, own={RECOVERED: recovered},
    )  # fmt: skip
    return noise_verdict(record, build_record_board(EMPTY)), tables


def of_mteb(seed: int) -> Made:
    """Published means, some missing."""
    rng = np.random.default_rng([seed, 49])
    means = {name: round(float(rng.uniform(0, 1)), 1) for name in NAMES if rng.random() < 0.8}
    rows = [ResultRow("mteb", "overall", "", "", "", "", name, "overall", value, 9) for name, value in means.items()]
    rows += [ResultRow("mteb", "sts", "sea", "", "", "", name, "main_score", 0.5, 9) for name in NAMES]

    def highest(claim: Claim) -> bool:
        return claim.value == max(means.values()) == means[claim.subject] and claim.of == len(means)

    return mteb_verdict(record_of("mteb", rows, NAMES), build_record_board(EMPTY)), Tables(own={"overall": highest})


def random_run(drawn: Drawn) -> ComparableRun:
    """The same as `embassay compare` reads it."""
    standings = tuple(
        SystemStanding(task, "", drawn.tasks.get(task, OVERALL), headline, RANKED if name in drawn.names else REFERENCE)
        for task, headlines in drawn.headlines.items()
        for name, headline in headlines.items()
    )
    return ComparableRun(Path("made"), {"protocol": "pteb"}, standings, cast(Any, {}))


def of_compare(seed: int) -> Made:
    """Two systems of a run: the verdict is on the first place that both have."""
    drawn = Drawn("pteb", seed)
    drawn = drawn if len(drawn.names) > 1 else Drawn("pteb", seed + 10_000)
    if len(drawn.names) < 2:
        return VerdictText(()), Tables()
    a, b = drawn.names[:2]
    found = compare_systems(random_run(drawn), a, b)
    verdict = next(block for block in compared_pair_view(found, "pteb") if isinstance(block, VerdictText))
    pairs = {}
    for task, headlines in drawn.headlines.items():
        known = [headlines[name] for name in (a, b)]
        if all(one.value is not None and len(one.replicates) for one in known):
            draws = np.stack([one.replicates for one in known])
            [test] = compare_replicates(draws, [one.value or 0.0 for one in known])
            contrast = next(one for one in found.contrasts if one.task == task)
            # p among all places is that of the table of contrasts; difference and interval are computed here.
            pairs[drawn.tasks.get(task, OVERALL)] = [
                Tested(a, b, test.difference, contrast.low, contrast.high, contrast.p_adjusted)
            ]
    values = {
        drawn.tasks.get(task, OVERALL): {name: one.value for name, one in headlines.items() if one.value is not None}
        for task, headlines in drawn.headlines.items()
    }  # fmt: skip
    return verdict, Tables(cast(Any, values), pairs=pairs)


def of_fields(seed: int) -> Made:
    """All systems of a run, place by place: the verdict is that of the first place with ranks."""
    drawn = Drawn("pteb", seed)
    found = list(list_ranked_system_groups(random_run(drawn)))
    blocks = [block for block in ranked_groups_view(found, "pteb") if isinstance(block, VerdictText)]
    verdict = next((block for block in blocks if block.claims), blocks[0])
    tables = drawn.tables()
    named = {task: drawn.tasks.get(task, OVERALL) for task in drawn.headlines}
    return verdict, Tables(
        {named[task]: own for task, own in tables.values.items()},
        pairs={named[task]: own for task, own in tables.pairs.items()},
        floors={named[task]: floor for task, floor in tables.floors.items()},
    )


def of_leaderboard(seed: int) -> Made:
    """The leading column of a board."""
    drawn = Drawn("sage", seed)
    task = next(iter(drawn.headlines))
    headlines = drawn.headlines[task]
    standings = [
        SystemStanding(task, "", "m", headline, RANKED if name in drawn.names else REFERENCE)
        for name, headline in headlines.items()
    ]
    tests = compute_pair_tests_of_column(standings, higher=True)
    column = SimpleNamespace(
        key=task, task=task, title=task, factor=1.0, decimals=3, unit="score", higher_is_better=True
    )
    members = [
        SimpleNamespace(
            name=one.system, group=one.group, complete=one.headline.value is not None,
            cells={task: SimpleNamespace(value=one.headline.value)},
        )
        for one in sorted(standings, key=lambda one: (-(one.headline.value or 0.0), one.system))
    ]  # fmt: skip
    work = [SimpleNamespace(status="done" if one.headline.value is not None else "failed") for one in standings]
    board = SimpleNamespace(lead=column, runs=[SimpleNamespace(work=work)])
    labels = {name: name for name in headlines}
    verdict = leaderboard_verdict(cast(Any, board), cast(Any, members), tests, labels)
    done = sum(one.headline.value is not None for one in standings)
    return verdict, drawn.tables(counts={"finished": (done, len(standings))}, intervals={task: {}})


def of_findings(seed: int) -> Made:
    """What `hume score` writes beside its tables; the values are read from the drawn pairs."""
    drawn = DrawnStudy(seed)
    trusted = [record.trust for record in drawn.pairs if record.trust]
    levels = {f"{word} agreement": (trusted.count(word), len(trusted)) for word in ("high", "medium", "low")}
    counts = {
        **drawn.counts, **levels, "place": (drawn.place, len(drawn.names) + 1),
        "unknown agreement": (len(drawn.pairs) - len(trusted), len(drawn.pairs)),
    }  # fmt: skip
    agreed = [
        (record.agreement.value.value or 0.0, -drawn.gaps[record.name]) for record in drawn.pairs if record.agreement
    ]
    values = {"mean": {**drawn.means, "Human": drawn.human}}
    if len(agreed) > 2 and all(len(set(column)) > 1 for column in zip(*agreed, strict=True)):
        together = float(spearmanr(*zip(*agreed, strict=True)).statistic)
        values["correlation with the lead"] = {"agreement": together}
    found = list(list_verdict_findings(drawn.summary))
    claims = tuple(claim for one in found for claim in one.claims)
    return VerdictText((), tuple((one.text,) for one in found), claims), Tables(values, counts=counts)


def of_gate(seed: int) -> Made:
    """Bars on random rows, some without a value or an interval; whether one is met is worked out here."""
    rng = np.random.default_rng([seed, 51])
    rows, bars, met = [], [], {}
    for place in range(int(rng.integers(1, 5))):
        value = round(float(rng.uniform(-0.2, 1)), 1) if rng.random() < 0.85 else None
        ends = ends_of(rng, value) if value is not None else (None, None)
        measure = f"m{place}"
        rows.append(ResultRow("sage", "preference", "", "", "en", "", "alder", measure, value, 9, *ends, "b", 1, ""))
        sign, end = str(rng.choice([">=", "<=", ">", "<"])), str(rng.choice(["value", "lower", "upper"]))
        number = round(float(rng.uniform(0, 1)), 1)
        bar = Threshold("sage", "preference", measure, "alder", sign, number, cast(Any, end))
        held = {"value": value, "lower": ends[0], "upper": ends[1]}[end]
        bars.append(bar)
        if held is not None:
            met[bar.text] = (
                (held >= number if "=" in sign else held > number)
                if sign[0] == ">"
                else (held <= number if "=" in sign else held < number)
            )
    verdicts = list(iterate_score_threshold_verdicts(bars, ResultsForThresholds(tuple(rows), frozenset())))
    said = next(block for block in gate_verdicts_view(verdicts) if isinstance(block, VerdictText))
    every, kept = len(bars), sum(met.values())
    counts = {
        "met": (kept, every), "missed": (len(met) - kept, every), "not tested": (every - len(met), every)
    }  # fmt: skip
    return said, Tables(keeps=met.__getitem__, counts=counts)


def of_decision(seed: int) -> Made:
    """A study until decided on a random world, at a random number of labels; what all labels would say is known."""
    rng = np.random.default_rng([seed, 52])
    judged = qrels(int(rng.choice([4, 12, 30])), seed)
    count, levels = int(rng.integers(2, 4)), [None, 4][int(rng.integers(2))]
    runs = {
        name: ranked(judged, seed * 7 + place, skill=float(rng.choice([0.0, 1.0, 3.0])), levels=levels)
        for place, name in enumerate(NAMES[:count])
    }
    bar = round(float(rng.uniform(0.1, 0.9)), 1) if rng.random() < 0.3 else None
    population = make_comparison_items_of_runs(
        {name: read_entries_in_memory(own, "run", name) for name, own in runs.items()}, "Precision4+@5", bar
    )
    labels: dict[Any, int] = {}
    course = find_study_state_from_labels(population, labels, DecisionSettings(seed=seed, block=10))
    for _ in range(int(rng.integers(0, 12))):
        if not course.waiting:
            break
        labels |= {key: judged[key[0]].get(key[1], 0) for key in course.waiting}
        course = find_study_state_from_labels(population, labels, DecisionSettings(seed=seed, block=10))
    decision = make_decision_study_record(course, DecisionSettings(seed=seed, block=10))
    said = next(block for block in make_decision_study_terminal_blocks(decision) if isinstance(block, VerdictText))
    good = {name: _precision(own, judged, 5) for name, own in runs.items()}
    beats = {(claim.subject, claim.others[0]) for claim in said.claims if claim.relation == "beats"}

    def is_decided(claim: Claim) -> bool:
        """The interval lies on the right side; once no label can change it, so do the values of all labels."""
        ahead = claim.value if claim.relation != "misses" else -(claim.value or 0.0)
        sure = (claim.low or 0.0) > 0 if claim.relation != "misses" else (claim.high or 0.0) < 0
        other = bar if bar is not None else good[claim.others[0]]
        true = good[claim.subject] - other
        is_so = decision.why != "certain" or (true < 0 if claim.relation == "misses" else true > 0)
        return (ahead or 0.0) > 0 and sure and is_so

    def is_best(claim: Claim) -> bool:
        """It beats each of the others, itself or through one that it beats."""
        reached = {claim.subject}
        for _ in runs:
            reached |= {loser for winner, loser in beats if winner in reached}
        return reached == {claim.subject, *claim.others} == set(runs)

    def holds(claim: Claim) -> bool:
        return is_best(claim) if claim.relation == "first" else is_decided(claim)

    # Before a decision every label is one that was asked for; `used` stands behind a decision, and the rest is aside.
    used = len(labels) if decision.is_open else decision.used
    counts = {"labels": (used, int(population.cost.sum())), "set aside": (len(labels) - used, len(labels))}
    return said, Tables(counts=counts, own={"Precision4+@5": holds, "bar": holds})


def _precision(own: dict[str, dict[str, float]], judged: dict[str, dict[str, int]], k: int) -> float:
    """The share of the first k that is good, over all queries; of equal scores the higher id comes first, as in
    trec_eval."""
    first = {query: sorted(docs, key=lambda doc: (docs[doc], doc), reverse=True)[:k] for query, docs in own.items()}
    return float(np.mean([judged[query].get(doc, 0) >= 4 for query, docs in first.items() for doc in docs]))


def of_validation(seed: int) -> Made:
    """In how many languages people accept the paraphrases, some without a verdict."""
    rng = np.random.default_rng([seed, 50])
    langs = ("deu", "eng", "fra")[: int(rng.integers(1, 4))]
    accepted = {lang: float(rng.integers(0, 2)) if rng.random() < 0.8 else None for lang in langs}
    mean = round(float(rng.uniform(1, 5)), 2)
    ends = ends_of(rng, mean)
    rows = [_rated(lang, "accepted", value) for lang, value in accepted.items()]
    rows.append(_rated("", "mean_rating", mean, *ends))
    record = record_of("validation", rows, ("people",))
    yes = sum(value == 1 for value in accepted.values())
    tables = Tables(
        {"mean_rating": {"": mean}}, counts={"accepted": (yes, len(langs))}, intervals={"mean_rating": {"": ends}}
    )
    return make_paraphrase_validation_verdict(record, build_record_board(EMPTY)), tables


def _rated(lang: str, measure: str, value: float | None, *ends: float | None) -> ResultRow:
    low, high = ends or (None, None)
    return ResultRow(
        "pteb", "validation", "", lang, lang, "", "people", measure, value, 9, low, high, "b", 1,
        "" if value is not None else "too few",
    )  # fmt: skip
