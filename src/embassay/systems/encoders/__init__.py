"""Embedding models, one per file; each imports its heavy libraries only when it is made."""
