"""`packed_rows`: selects the documents of a mixture and packs them into rows of fixed length."""
