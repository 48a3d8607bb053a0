"""Training on the device: the words' symbols, the counts of their pairs, and the merge loop."""
