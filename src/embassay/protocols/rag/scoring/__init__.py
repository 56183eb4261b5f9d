"""Scoring run files against graded judgements: set measures, classic ones, ceilings, and what they say together."""
