"""The processes of a training: how many on how many machines, how they meet, and how each begins and ends."""
