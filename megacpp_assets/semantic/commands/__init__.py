"""How each file is compiled: from a compile database, or inferred from the tree."""
