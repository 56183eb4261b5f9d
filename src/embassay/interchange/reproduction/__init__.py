"""The papers' experiments by name: the commands that repeat them, and their printed tables beside those of a run."""

from embassay.interchange.reproduction.comparison import Beside, compared
from embassay.interchange.reproduction.figures import Figure, Printed, printed
from embassay.interchange.reproduction.recipes import RECIPES, Recipe, Step

__all__ = ["RECIPES", "Beside", "Figure", "Printed", "Recipe", "Step", "compared", "printed"]
