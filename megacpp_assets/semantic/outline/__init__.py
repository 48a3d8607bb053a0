"""What a file declares, and where: nodes with their extents, from the parser and from its tokens."""
