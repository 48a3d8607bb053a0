"""Preprocessor conditionals of a file: which text an arm owns, and under which conditions a text stands."""
