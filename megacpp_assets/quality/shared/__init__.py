"""Checks of no single stage: the form of all checks, rules of several stages, and the comparison of two releases."""
