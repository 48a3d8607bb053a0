"""Labels of each character of a file: categories, tree positions and symbols."""
