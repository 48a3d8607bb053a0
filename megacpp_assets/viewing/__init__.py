"""A packed row or a document as a person reads it: its text by token, in the colours of its structure."""
