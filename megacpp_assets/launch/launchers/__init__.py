"""One file per launcher; the file name is the name in the recipe."""
