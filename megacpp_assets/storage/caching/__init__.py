"""What spares work and decides no byte."""
