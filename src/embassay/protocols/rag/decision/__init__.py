"""Labels where they decide: which run is better, or whether a bar is met, from as few grades of passages as that takes."""
