"""What the answers of a judge say of the judge itself, whatever engine asked for them."""

from embassay.protocols.rag.ranking.report.consistency import Consistency, consistency
from embassay.protocols.rag.ranking.report.exposure import Exposure, exposure
from embassay.protocols.rag.ranking.report.judged import Judged
from embassay.protocols.rag.ranking.report.noise import judge_noise
from embassay.protocols.rag.ranking.report.notes import judge_notes
from embassay.protocols.rag.ranking.report.places import Places, place_gains

__all__ = [
    "Consistency",
    "Exposure",
    "Judged",
    "Places",
    "consistency",
    "exposure",
    "judge_noise",
    "judge_notes",
    "place_gains",
]
