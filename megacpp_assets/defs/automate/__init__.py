"""What runs by itself: the sensor of releases and the nightly runs."""
