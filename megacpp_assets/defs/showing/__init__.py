"""What a materialization shows a person: figures, pictures, identity, and where to click."""
