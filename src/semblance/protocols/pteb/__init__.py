"""PTEB: how much of a benchmark score is left when every text is freshly paraphrased at evaluation time.

Frank, Afli, "PTEB: Towards Robust Text Embedding Evaluation via Stochastic Paraphrasing at Evaluation Time with LLMs",
EACL 2026.
"""
