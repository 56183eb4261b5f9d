"""Ten small runs whose files are to stay the same bytes while the package is rebuilt; see CONTRIBUTING.md."""
