"""`python -m semblance`."""

from semblance.cli.main import run

if __name__ == "__main__":
    run()
