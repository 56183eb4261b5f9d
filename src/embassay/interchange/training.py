"""Scores while a model is trained: with intervals, against the base model, and a reason to stop.

    from embassay.interchange.training import TrainingProgress

    progress = TrainingProgress(model, task="clustering", datasets=["tickets.csv"], out="runs/training")
    trainer = SentenceTransformerTrainer(
        model, ..., evaluator=progress.evaluator(), callbacks=[progress.stopping()]
    )

Every evaluation is a run of its own below `out`, and is compared with that of the model before training by a paired
test on the same items. Since a trainer looks again and again, the k-th look has the level 0.05 / (k (k + 1)): over all
looks, a false alarm is at most as likely as 0.05.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from embassay.errors import UsageError
from embassay.protocols.kernel.comparisons import ALPHA, SystemHeadlineValue, read_standings
from embassay.runs.folder import write_json_lines

Verdict = Literal["better", "worse", "cannot be told apart", "not tested"]
_NAME = "model"
_LOG = "evaluations.jsonl"
_INSTALL = "Install it with: pip install 'embassay[train]'"
_MOVED = 6
"""The version of sentence-transformers whose evaluators are in another module."""
_TELL = logging.getLogger("embassay.training")


@dataclass(frozen=True)
class TrainingStepEvaluation:
    """One look at a model: its run, its headline with the 95% interval, and how it differs from the base model: that
    minus the base model's, its 95% interval, p, and what follows at the level of this look."""

    step: int
    epoch: float
    run: str
    score: float | None
    interval: tuple[float | None, float | None]
    n: int
    difference: float | None = None
    difference_interval: tuple[float | None, float | None] = (None, None)
    p: float | None = None
    against_base: Verdict = "not tested"
    against_best: Verdict = "not tested"
    most_gain: float | None = None
    """The upper end of the 95% interval of the gain on the best evaluation before."""
    reason: str = ""

    def __str__(self) -> str:
        score = "no score" if self.score is None else f"{self.score:.3f}"
        ends = "" if None in self.interval else " ({:.3f} to {:.3f})".format(*self.interval)
        than = "" if self.difference is None else f" by {self.difference:+.3f}"
        words = {
            "better": f"better than the base model{than}",
            "worse": f"worse than the base model{than}",
            "cannot be told apart": "cannot be told apart from the base model",
        }
        verdict = words.get(self.against_base, "not tested against the base model")
        return f"step {self.step}: {score}{ends}, n {self.n}; {verdict}"


class TrainingProgress:
    """Evaluations of a model in training, the first of them, of `base`, made at once.

    `base` is the model before training: what `embassay.sage.run` takes as a system. `task` is the task of `protocol`
    whose headline counts, and `arguments` are those of the protocol's `run` (datasets, limit, options, tokenizer, by
    default words...).
    Keep the texts out of the training data: `embassay data check FILE --against TRAIN` finds those that are in both.
    Raises UsageError for another protocol, and what the run raises.
    """

    def __init__(
        self,
        base: Any,
        *,
        task: str,
        out: str | Path,
        protocol: Literal["sage", "pteb"] = "sage",
        name: str = "embassay",
        **arguments: Any,
    ) -> None:
        if protocol not in ("sage", "pteb"):
            raise UsageError(f"{protocol!r} cannot run during training.", mend="Use sage or pteb.")
        self.task, self.out, self.protocol, self.name = task, Path(out), protocol, name
        # Machines that train often have no network, which the papers' tokenizer needs once.
        self._arguments = {"tokenizer": "words", **arguments}
        self.evaluations: list[TrainingStepEvaluation] = []
        self.base = self._evaluate_model_at_training_step(base, "base", step=0, epoch=0.0)
        self.best = self.base
        self._write_progress()

    def evaluate(self, model: Any, *, step: int, epoch: float = 0.0) -> TrainingStepEvaluation:
        """Score the model as it is now, compare it with the base model and with the best so far, and keep it."""
        now = self._evaluate_model_at_training_step(model, f"step-{step:08d}", step=step, epoch=epoch)
        level = compute_alpha_of_look(len(self.evaluations) + 1)
        to_base, to_best = (self._test_difference_of_evaluations(now, other) for other in (self.base, self.best))
        now = replace(
            now,
            difference=to_base.difference,
            difference_interval=(to_base.low, to_base.high),
            p=to_base.p,
            against_base=judge_difference(to_base.difference, to_base.p, level),
            against_best=judge_difference(to_best.difference, to_best.p, level),
            most_gain=to_best.high,
            reason=now.reason or to_base.reason,
        )
        self.evaluations.append(now)
        if now.against_best == "better":
            self.best = now
        self._write_progress()
        _TELL.info("%s", now)
        return now

    def find_reason_to_stop(self, patience: int = 3, margin: float = 0.0) -> str:
        """Why training may stop: the model is worse than the best before, or the last `patience` evaluations each gain
        at most `margin` on the best, by the 95% interval. Empty while there is no such evidence: noise is none."""
        if self.evaluations and self.evaluations[-1].against_best == "worse":
            return "worse than the best evaluation so far"
        recent = self.evaluations[-patience:]
        gains = [evaluation.most_gain for evaluation in recent]
        if len(recent) == patience and all(gain is not None and gain <= margin for gain in gains):
            return f"each of the last {patience} evaluations gains at most {margin:g} over the best"
        return ""

    def evaluator(self) -> Any:
        """An evaluator for sentence-transformers' trainer. UsageError without the extra `train`."""
        return _make_trainer_evaluator(self)

    def stopping(self, patience: int = 3, margin: float = 0.0) -> Any:
        """A callback for the trainer that stops by `find_reason_to_stop`. UsageError without the extra `train`."""
        return _make_stopping_callback(self, patience, margin)

    def measure(self, evaluation: TrainingStepEvaluation) -> dict[str, float]:
        """List the numbers of an evaluation for a log, without those that have no value."""
        verdicts = {"better": 1.0, "worse": -1.0}
        named: Mapping[str, float | None] = {
            "": evaluation.score,
            "_low": evaluation.interval[0],
            "_high": evaluation.interval[1],
            "_n": float(evaluation.n),
            "_gain": evaluation.difference,
            "_gain_low": evaluation.difference_interval[0],
            "_gain_high": evaluation.difference_interval[1],
            "_beats_base": verdicts.get(evaluation.against_base, 0.0),
        }
        numbers = {f"{self.name}_{self.task}{kind}": number for kind, number in named.items()}
        return {name: number for name, number in numbers.items() if number is not None}

    def _evaluate_model_at_training_step(
        self, model: Any, folder: str, *, step: int, epoch: float
    ) -> TrainingStepEvaluation:
        import embassay

        run: Callable[..., Any] = getattr(embassay, self.protocol).run
        path = self.out / folder
        run({_NAME: model}, tasks=[self.task], out=path, **self._arguments)
        headline = self._find_run_headline(path)
        low, high = headline.interval
        return TrainingStepEvaluation(
            step, epoch, str(path), headline.value, (low, high), headline.n, reason=headline.reason
        )

    def _find_run_headline(self, path: Path) -> SystemHeadlineValue:
        for standing in read_standings(path):
            if (standing.task, standing.dataset, standing.system) == (self.task, "", _NAME):
                return standing.headline
        return SystemHeadlineValue.none(_NAME, "the run has no score")

    def _test_difference_of_evaluations(
        self, now: TrainingStepEvaluation, other: TrainingStepEvaluation
    ) -> _TestedDifference:
        from embassay.protocols.compare import compare

        if now.score is None or other.score is None:
            return _TestedDifference(None, None, None, None, now.reason or other.reason)
        leading = compare(now.run, other.run, a=_NAME, b=_NAME, tasks=[self.task]).leading
        known = leading.p == leading.p
        low, high, p = (leading.low, leading.high, leading.p) if known else (None, None, None)
        return _TestedDifference(leading.difference, low, high, p, leading.reason)

    def _write_progress(self) -> None:
        looks = [self.base, *self.evaluations]
        write_json_lines(self.out / _LOG, map(asdict, looks))


@dataclass(frozen=True)
class _TestedDifference:
    """A difference with its interval and p; None where it is not known, with the reason."""

    difference: float | None
    low: float | None
    high: float | None
    p: float | None
    reason: str = ""


def compute_alpha_of_look(look: int) -> float:
    """The level of the k-th look, from 1: all of them sum to 0.05.

    >>> compute_alpha_of_look(1), round(sum(map(compute_alpha_of_look, range(1, 10_000))), 3)
    (0.025, 0.05)
    """
    return ALPHA / (look * (look + 1))


def judge_difference(difference: float | None, p: float | None, level: float) -> Verdict:
    """Judge what a difference says at a level of significance."""
    if difference is None or p is None:
        return "not tested"
    if p >= level:
        return "cannot be told apart"
    return "better" if difference > 0 else "worse"


def _make_trainer_evaluator(progress: TrainingProgress) -> Any:
    evaluation = _import_evaluator_module()

    class EmbassayEvaluator(evaluation.SentenceEvaluator):  # type: ignore[misc, name-defined]
        """Scores of Embassay at every evaluation of the trainer."""

        def __init__(self) -> None:
            super().__init__()
            self.primary_metric = f"{progress.name}_{progress.task}"

        def __call__(
            self, model: Any, output_path: str | None = None, epoch: float = -1, steps: int = -1
        ) -> dict[str, float]:
            del output_path  # the run is kept below `out`
            step = steps if steps >= 0 else len(progress.evaluations) + 1
            return progress.measure(progress.evaluate(model, step=step, epoch=epoch))

    return EmbassayEvaluator()


def _import_evaluator_module() -> Any:
    """The module of evaluators, which moved in sentence-transformers 6."""
    try:
        import sentence_transformers
    except ImportError as error:
        raise _make_missing_package_error(error) from error
    moved = int(sentence_transformers.__version__.partition(".")[0]) >= _MOVED
    return import_module(f"sentence_transformers.{'sentence_transformer.' if moved else ''}evaluation")


def _make_missing_package_error(error: ImportError) -> UsageError:
    return UsageError(f"Training needs the package {error.name}, which is not installed.", mend=_INSTALL)


def _make_stopping_callback(progress: TrainingProgress, patience: int, margin: float) -> Any:
    try:
        from transformers import TrainerCallback
    except ImportError as error:
        raise _make_missing_package_error(error) from error

    class TrainingStopCallback(TrainerCallback):
        """Stops training where the evaluations give a reason."""

        def on_evaluate(self, args: Any, state: Any, control: Any, **others: Any) -> Any:
            del args, state, others
            if reason := progress.find_reason_to_stop(patience, margin):
                _TELL.info("training stops: %s", reason)
                control.should_training_stop = True
            return control

    return TrainingStopCallback()
