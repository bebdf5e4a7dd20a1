"""Shell hooks: the owner's own programs, told of what the loop does and asked about calls."""
