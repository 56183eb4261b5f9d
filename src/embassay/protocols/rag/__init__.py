"""RAG: do the top K passages contain the decisive evidence, and if not, what would help?"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from embassay.protocols.questions import QuestionsOptions
    from embassay.protocols.rag import golden, sweep
    from embassay.protocols.rag.answers.options import AnswerRequest
    from embassay.protocols.rag.answers.protocol import answer
    from embassay.protocols.rag.golden.options import GoldenOptions
    from embassay.protocols.rag.probes.options import NamesRequest, NoiseRequest, VersionsOptions
    from embassay.protocols.rag.probes.protocol import probe_names, probe_noise
    from embassay.protocols.rag.probes.versions import probe_versions
    from embassay.protocols.rag.questions.options import QuestionsRequest
    from embassay.protocols.rag.questions.protocol import questions
    from embassay.protocols.rag.scoring.options import ScoreRequest
    from embassay.protocols.rag.scoring.protocol import Scoring, score

__all__ = [
    "AnswerRequest", "GoldenOptions", "NamesRequest", "NoiseRequest", "QuestionsOptions", "QuestionsRequest",
    "ScoreRequest", "Scoring", "VersionsOptions", "answer", "golden", "probe_names", "probe_noise", "probe_versions",
    "questions", "score", "sweep"
]  # fmt: skip

_HOMES = {
    "AnswerRequest": "answers.options",
    "answer": "answers.protocol",
    "GoldenOptions": "golden.options",
    "NamesRequest": "probes.options",
    "NoiseRequest": "probes.options",
    "QuestionsOptions": "questions.options",
    "QuestionsRequest": "questions.options",
    "ScoreRequest": "scoring.options",
    "Scoring": "scoring.protocol",
    "probe_names": "probes.protocol",
    "probe_noise": "probes.protocol",
    "probe_versions": "probes.versions",
    "VersionsOptions": "probes.options",
    "questions": "questions.protocol",
    "score": "scoring.protocol",
}


def __getattr__(name: str) -> Any:
    if name in ("golden", "sweep"):
        return import_module(f"{__name__}.{name}")
    if name in _HOMES:
        return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
