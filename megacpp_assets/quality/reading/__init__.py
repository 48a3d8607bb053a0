"""What checks read of artifacts, in Arrow and numpy, a bounded block at a time; imported when a check runs."""
