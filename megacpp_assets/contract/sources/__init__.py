"""What is known of source files and repositories: the record of a file, why files are left out, addresses."""
