"""The files of a commit that a compiler may want: exported, bounded, read as text."""
