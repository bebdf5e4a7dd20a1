"""The data of the redactor: what secrets look like and what they are called.

Key prefixes are the ones that issuers publish so that scanners can find leaked keys.
"""

from typing import Final


def words(text: str) -> frozenset[str]:
    """The words of `text`."""
    return frozenset(text.split())


def _list(text: str) -> tuple[str, ...]:
    return tuple(text.split())


SHORTEST_BODY: Final = 10
"""The least number of characters behind a prefix."""

# Issuers promise that nothing else begins like this.
STRONG_PREFIXES: Final = _list(
    "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ xoxa- xoxb- xoxe- xoxp- xoxr- xoxs- xapp- sk_live_ "
    "sk_test_ rk_live_ rk_test_ whsec_ bb_live_ glpat- gldt- glrt- glcbt- glptt- glft- glimt- "
    "glagent- gloas- glsoat- glffct- glsa_ glc_ dop_v1_ doo_v1_ dor_v1_ shpat_ shpss_ shpca_ "
    "shppa_ pk-lf- sk-lf- tvly- pplx- syt_ gsk_ nvapi- csk- retaindb_ brv_ ntn_ fpk_ lin_api_ "
    "figd_ dckr_pat_ rubygems_ sntrys_ sntryu_ PMAK- NRAK- GOCSPX- pscale_tkn_ pscale_pw_ "
    "lsv2_pt_ lsv2_sk_ pcsk_ tskey- sbp_ sb_secret_ CFPAT- fm2_ xkeysib- AGE-SECRET-KEY- sq0csp- "
    "sq0atp- SG. hvs. hvb. ya29. dp.pt."
)

# These also begin ordinary names (`npm_config_registry`, `fc-daygrid-day`), so a value made of
# plain words is left alone.
WEAK_PREFIXES: Final = _list(
    "sk- sk_ hf_ r8_ npm_ pypi- fal_ fc- am_ exa_ hsk- mem0_ xai- fw- fw_ jina_ e2b_ pul-"
)

# Keys without a separator: their first characters -> a regex for the whole.
BARE_KEYS: Final = {
    "AKIA": r"AKIA[A-Z0-9]{16,}",
    "ASIA": r"ASIA[A-Z0-9]{16,}",
    "AIza": r"AIza[A-Za-z0-9_\-]{30,}",
    "gAAAA": r"gAAAA[A-Za-z0-9_\-]{20,}={0,2}",
    "GR1348941": r"GR1348941[A-Za-z0-9_\-]{10,}",
    "eyJ": r"eyJ[A-Za-z0-9_\-]{10,}={0,2}(?:\.[A-Za-z0-9_\-]{4,}={0,2}){0,4}",
}
# Where one of them may stand: a regex that begins with one rare character, which is searched fast,
# and how far into a key that character may be.
BARE_KEY_STARTS: Final = (
    (r"A(?=KIA|SIA|Iza|(?<=gA)AAA)", (0, 1)),
    (r"J(?<=eyJ)", (2,)),
    (r"G(?=R1348941)", (0,)),
)

# What an assignment of a secret stands near in a lower-cased text: key, token, secret, cred, pass,
# pw, auth. Each regex begins with a literal, which is searched faster than `str.find` does.
NAME_TRIGGERS: Final = (r"k(?:ey|(?<=tok)en)", r"cre(?:d|(?<=secre)t)", "pass", "pw", "auth")

PASSWORD_WORDS: Final = words("password passwd passphrase passcode pwd pw pass sshpass userpass")
PASSWORD_ENDINGS: Final = ("password", "passwd", "passphrase")
SECRET_WORDS: Final = words("secret credential")
SECRET_ENDINGS: Final = ("secret",)
KEY_ENDINGS: Final = ("apikey", "secretkey", "accesskey", "privatekey", "clientsecret")
AMBIGUOUS_WORDS: Final = words("token key auth credentials creds cred secrets")
AMBIGUOUS_ENDINGS: Final = ("token",)

# `key` after one of these words is a secret whatever its value looks like.
KEY_OWNERS: Final = words(
    "api access secret private auth signing encryption master account storage client consumer "
    "subscription webhook"
)
# `key` or `token` after one of these words is not a secret.
BENIGN_OWNERS: Final = words(
    "public primary foreign sort partition cache idempotency composite unique hash dict map group "
    "range row index lookup translation i18n page next continuation cancel cancellation eos bos "
    "pad unk mask sep cls stop start end image special max min num total input output prompt "
    "completion per hot shortcut object s3 storage_object routing registry column"
)
# Words behind the secret word that do not change what it is.
NEUTRAL_TAILS: Final = words(
    "prod production dev development staging stage test live old new current previous base b64 "
    "base64 value primary secondary backup default admin root user"
)
# Words behind the secret word that make it something about a secret.
OTHER_TAILS: Final = words(
    "name names id ids file files path url uri type types length len count ttl expiry expires "
    "expiration policy prefix suffix header field hint label max min size limit limits budget env "
    "var ref arn algorithm alg format enabled required rotation timeout version index dir store "
    "manager provider source usage error errors status pattern regex re mode scope scopes class "
    "vault kind bytes words chars list set map hash_algo method endpoint service handler "
    "middleware url_template reset change changed stdin checker validator strength rules"
)

# Values that are words of a language, a schema or a form and never a secret.
BENIGN_VALUES: Final = words(
    "true false none null nil undefined yes no on off required optional string str int integer "
    "number text bytes object any bool boolean unknown unset default hidden missing invalid valid "
    "expired empty disabled enabled basic bearer digest oauth oauth2 jwt header query cookie n/a "
    "na failed ok success denied sensitive unauthorized forbidden prompt interactive auto "
    "optional[str] | > >- |- - { [ ("
)
# What people write where a secret should go; a real password may look like it, so these count
# only in code and files.
PLACEHOLDER_WORDS: Final = words(
    "changeme change-me change_me replaceme replace-me replace_me todo tbd fixme example sample "
    "dummy placeholder password passwd secret pass pwd redacted masked xxx"
)

# Form fields whose value is secret in a text that is one form body, whatever the value.
FORM_FIELDS: Final = words(
    "token access_token refresh_token id_token auth_token api_key apikey key secret client_secret "
    "password passwd pass pwd code code_verifier assertion client_assertion signature sig auth "
    "session sessionid jwt private_key"
)

# HTTP headers that carry a key and do not begin with `x-`.
KEY_HEADERS: Final = words(
    "api-key apikey private-token job-token deploy-token ocp-apim-subscription-key"
)

# An address without a port of call for secrets: the part before @ is a user's name there.
LOGIN_SCHEMES: Final = words("ssh git+ssh ssh+git sftp ftp rsync smb svn+ssh scp")

AUTH_SCHEMES: Final = words(
    "basic bearer token digest negotiate ntlm apikey api-key key hmac hawk oauth dpop bot "
    "aws4-hmac-sha256 sharedkey sso-key splunk genie-key"
)

COOKIE_ATTRIBUTES: Final = words(
    "path domain expires max-age samesite secure httponly priority partitioned version"
)
