"""Shows a packed row or a document to a person: its text by token, coloured by structure."""
