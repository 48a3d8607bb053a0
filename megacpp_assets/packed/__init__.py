"""Stage 5: mixture, best-fit packing, rows."""
