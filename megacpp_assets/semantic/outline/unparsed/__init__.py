"""The outline of text that libclang did not parse, by tree-sitter."""
