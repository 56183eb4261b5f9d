"""A model card per system, over all runs of a report: what it is good at, where it breaks, against people, against its
price, what is not known, and how to run it again."""

from embassay.report.cards.again import run_again
from embassay.report.cards.card import SystemCard, cards_of, system_cards

__all__ = ["SystemCard", "cards_of", "run_again", "system_cards"]
