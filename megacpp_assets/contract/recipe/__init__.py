"""A recipe: everything that a person may choose about a corpus, as frozen values, and how it is read."""
