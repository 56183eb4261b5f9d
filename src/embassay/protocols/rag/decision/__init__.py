"""Labels where they decide: which run is better, or whether a bar is met, from the grades that this takes."""
