"""The text of a document: its head, its pieces in order, and what must hold of it."""
