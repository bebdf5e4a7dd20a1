"""The steps of the chain that decides about every call, each in a few lines."""
