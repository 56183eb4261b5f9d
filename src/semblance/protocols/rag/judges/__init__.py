"""Who judges passages: a language model, answers that were recorded, or a simulation from known judgements."""

from semblance.protocols.rag.judges.contract import Judge, Ordering, Passage, Question, Verdict

__all__ = ["Judge", "Ordering", "Passage", "Question", "Verdict"]
