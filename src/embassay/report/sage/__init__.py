"""The SAGE page of the report."""
