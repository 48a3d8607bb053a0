"""Which files of a pinned commit may become documents: their licences and quality, and why a file is left out."""
