"""One file per launcher; the name of the file is the `launch.launcher` of a recipe."""
