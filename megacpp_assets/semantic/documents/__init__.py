"""Documents composed from the graph: groups of roots, their context, one text."""
