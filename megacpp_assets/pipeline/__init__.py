"""The line as a whole: which steps a corpus has, which are stale, and how one step is run, checked and receipted."""
