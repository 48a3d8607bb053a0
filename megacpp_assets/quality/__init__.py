"""The checks of every stage: one table a module. What they read artifacts with lies in `reading/`."""
