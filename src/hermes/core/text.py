"""The one cleaner that every foreign string passes on its way in."""

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


def clean(text: str) -> str:
    """`text` with each lone surrogate replaced by U+FFFD, so that it can be encoded anywhere.

    A pair that arrived as two surrogates (JSON escapes cut in half and joined) becomes the
    character that it stands for.
    """
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return text
