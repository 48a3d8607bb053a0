"""Stage `resolved_windows`: functions that commits modified, among what the compiler resolved (dataset version v5)."""
