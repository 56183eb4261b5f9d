"""What a document is made of, and how it is drawn: tables, marks and plots, for a page or a terminal."""
