"""The licence of each file, and whether a recipe allows it."""
