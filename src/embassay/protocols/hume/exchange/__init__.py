"""Annotations in and out: CSV, JSONL, Label Studio, Argilla, and scores as MTEB results. Gold never goes with tasks."""
