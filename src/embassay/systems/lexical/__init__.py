"""Classical similarities: on characters (Levenshtein) and on tokens (ROUGE, Jaccard, BM25)."""
