"""The sandbox of the operating system in which commands of this machine run."""
