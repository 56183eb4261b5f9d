"""From graded candidates to one order and its top K, by asking a judge to order a few of them at a time.

Pure computation: an engine says which batches it wants judged and learns what came of them; who asks the judge, keeps
the answers and resumes stands outside (`golden.refinement`).
"""

from embassay.protocols.rag.ranking.engines import (
    CandidateRanking,
    JudgeOrderAnswer,
    PoolPassage,
    PoolRanker,
    RankingEngine,
)

__all__ = ["CandidateRanking", "JudgeOrderAnswer", "PoolPassage", "PoolRanker", "RankingEngine"]
