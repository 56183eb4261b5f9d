"""The machines of a test cluster import the work of its cells by name."""

import os
import sys
from pathlib import Path

HERE = str(Path(__file__).parent)
sys.path.insert(0, HERE)
# Workers of Ray make way for all else, which on a busy machine means that tests wait for them.
os.environ.setdefault("RAY_worker_niceness", "0")
# A lost machine is noticed after 3 s, where Ray takes 15.
os.environ.setdefault("RAY_health_check_initial_delay_ms", "1000")
os.environ.setdefault("RAY_health_check_period_ms", "500")
os.environ.setdefault("RAY_health_check_failure_threshold", "6")
os.environ["PYTHONPATH"] = os.pathsep.join([HERE, *filter(None, [os.environ.get("PYTHONPATH")])])
