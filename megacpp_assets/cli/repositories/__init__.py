"""Commands for the repositories of a data root: list, add, estimate, compare, build more releases, remove."""
