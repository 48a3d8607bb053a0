"""Files cut into chunks, and the chunks of all files joined to a graph of who uses whom."""
