"""`python -m embassay`."""

from embassay.cli.main import run

if __name__ == "__main__":
    run()
