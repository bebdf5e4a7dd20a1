"""The machine: environment, paths, files, processes, HTTP, logs, configuration."""
