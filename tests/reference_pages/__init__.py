"""The pages of docs/reference, made from the registries, the docstrings and what the code answers.

PYTHONPATH=tests python -m reference_pages --write     renew them after a registry or a docstring has changed
"""
