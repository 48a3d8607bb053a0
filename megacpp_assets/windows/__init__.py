"""Stage `commit_windows`: the functions that commits modified, with their callers and callees (dataset version v4)."""
