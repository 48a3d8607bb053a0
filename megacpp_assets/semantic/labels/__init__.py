"""What each character of a file is: categories, names of symbols."""
