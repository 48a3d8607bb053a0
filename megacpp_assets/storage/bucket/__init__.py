"""A data root in a bucket of Google Cloud Storage. Stages and readers see a local folder, which is its cache."""
