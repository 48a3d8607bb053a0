"""What launchers of one provider have in common."""
