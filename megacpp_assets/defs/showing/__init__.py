"""What the UI shows of a materialization: figures, pictures, identity and links."""
