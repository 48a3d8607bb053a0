"""Results of parses that are stored: in the cache of units, and in a scratch file during a run."""
