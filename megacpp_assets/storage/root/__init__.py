"""Files of a data root that are no artifacts: its layout, lock, kept manifests and recipes, and file locks."""
