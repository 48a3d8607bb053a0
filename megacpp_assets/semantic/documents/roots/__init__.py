"""Which definitions documents are made for, and which of them share a document."""
