"""Where conversations and blobs are kept: the implementations of `ports.store`."""
