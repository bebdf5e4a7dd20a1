"""English, one module per area: MESSAGES maps a name to a str.format template."""
