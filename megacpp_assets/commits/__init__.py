"""Stage `commits`: the history of a pinned commit, bounded by the recipe, with its changed C and C++ files."""
