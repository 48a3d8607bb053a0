"""The checks of every stage: one module with one table per stage. The code that reads artifacts is in `reading/`."""
