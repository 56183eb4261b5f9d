"""People's scores on a study as results of MTEB: folders `baseline__Human/REVISION/Task.json`."""
