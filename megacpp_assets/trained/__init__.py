"""Stage 7: the checkpoint of a mixture, trained by a launched job."""
