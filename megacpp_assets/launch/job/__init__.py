"""The machine that trains: it runs one attempt at a job."""
