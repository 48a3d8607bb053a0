"""The line as a whole: the steps of a corpus, which of them are outdated, and how one step runs and is checked."""
