"""Sweeps: every combination of encoder, index, depth and reranker, measured for quality, time and money (rag 3)."""
