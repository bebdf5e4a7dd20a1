"""The one configuration: typed settings, where each value came from, and careful edits."""
