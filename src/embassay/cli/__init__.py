"""The command line: one module per command group; it parses, calls the library and prints."""
