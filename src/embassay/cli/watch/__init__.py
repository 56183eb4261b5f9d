"""`embassay watch`: is a model still the one that was measured, and does a change matter to your lists?"""

from __future__ import annotations

from embassay.cli.options import TitledCommandApp, stopping_at_memory
from embassay.cli.watch import fingerprints

app = TitledCommandApp("Watch: is the model still the one you measured, and does it matter?")


@app.callback()
def group() -> None:
    """Watch: is it still the model you measured, and does it matter?"""


for _name in ("record", "check", "compare"):
    app.command(_name)(stopping_at_memory(getattr(fingerprints, _name)))
