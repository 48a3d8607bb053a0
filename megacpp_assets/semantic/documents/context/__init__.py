"""What a document shows beside its roots, within its room."""
