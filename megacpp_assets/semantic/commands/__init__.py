"""Decides how each file is compiled: by a compile database, or by arguments inferred from the tree."""
