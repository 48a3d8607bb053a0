"""Everything that crosses a stage boundary: names, columns, schemas, records, manifests, errors."""
