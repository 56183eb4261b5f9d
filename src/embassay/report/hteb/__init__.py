"""HTEB in the report: a profile of every system."""
