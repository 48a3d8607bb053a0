"""Units parsed by libclang in limited workers, with shared headers and a cache."""
