"""`trained_checkpoint`: the checkpoint of a mixture, trained by a launched job."""
