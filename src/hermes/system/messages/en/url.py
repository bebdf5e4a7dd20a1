"""Why a URL is not requested."""

from typing import Final

MESSAGES: Final = {
    "characters": "The URL was not requested: it holds spaces, control characters or backslashes. "
    "Percent-encode them.",
    "malformed": "The URL was not requested: it is not one ({reason}).",
    "scheme": "The URL was not requested: only http and https are, not {scheme}.",
    "userinfo": "The URL was not requested: it holds a user name or password before the host. "
    "Leave that out.",
    "port": "The URL was not requested: port 0 is no port.",
    "no_host": "The URL was not requested: it names no host.",
    "host": "The URL was not requested: {host} is neither a host name nor an address.",
    "metadata": "The URL was not requested: {host} gives out credentials of this machine. No "
    "setting allows it.",
    "nowhere": "The URL was not requested: {host} leads to {address}, which is not one machine's "
    "address. No setting allows it.",
    "private": "The URL was not requested: {host} is in a private network, or is this machine.",
    "private_hint": "Only the owner can allow that: hermes config set security.allow_private_urls "
    "true",
    "slow": "The URL was not requested: looking up {host} took longer than {seconds:g} s.",
    "unknown": "The URL was not requested: {host} has no address.",
}
