"""What documents are made of: classes, functions and chunks of declarations, with what they name."""
