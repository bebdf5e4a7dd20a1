"""The shapes rooms know each other by: one file per kind of extension."""
