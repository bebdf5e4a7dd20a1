"""The rules: each looks at one simple command and says which families it belongs to."""
