"""The version of this program; read by the build and by `hermes --version`."""

__version__ = "0.1.0"
