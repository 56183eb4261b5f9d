"""Scoring what people answered: per annotator, pooled, with the intervals and the agreement of the study."""
