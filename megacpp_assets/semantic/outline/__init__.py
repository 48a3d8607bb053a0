"""The declarations of a file with their byte ranges, from libclang and from tree-sitter."""
