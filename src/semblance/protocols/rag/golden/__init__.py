"""Golden sets: from questions and a corpus to graded, ordered judgements, stage by stage (spec rag 4)."""
