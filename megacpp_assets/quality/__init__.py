"""The checks of every stage: one module with one table per stage. `shared/` has what several stages need; the code that
reads artifacts is in `reading/`.
"""
