"""Facts about source files and repositories: the record of a file, reasons to leave files out, addresses."""
