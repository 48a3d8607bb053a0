"""What is found by words, where the parser has no references: macros, aliases, names in text that it dropped."""
