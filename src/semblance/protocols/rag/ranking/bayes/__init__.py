"""`bayes`: refinement of an order by a posterior over all judged orders."""

from semblance.protocols.rag.ranking.bayes.engine import Bayes
from semblance.protocols.rag.ranking.bayes.options import Options

__all__ = ["Bayes", "Options"]
