"""What the redactor masks, and what it leaves alone."""

import json
import tomllib
from pathlib import Path

import pytest

from hermes.safety.redact import Mode, Redactor, carries_mask, holds_sentinel
from program import Program

CASES = Path(__file__).parent.parent / "cases"
ROWS = [json.loads(line) for line in (CASES / "redact.jsonl").read_text("utf-8").splitlines()]
DEVIATIONS = tomllib.loads((CASES / "redact_deviations.toml").read_text("utf-8"))


def redact(text: str, mode: Mode = "text") -> str:
    return Redactor().redact(text, mode)


@pytest.mark.parametrize("case", ROWS, ids=lambda case: case["id"])
def test_the_reference_s_cases_hold_except_the_listed_ones(case: dict) -> None:
    args = case["args"]
    if case["tool"] == "redact_terminal":
        output = Redactor().terminal(args["text"], args["command"])
    else:
        mode: Mode = "file" if args.get("file_read") else "text"
        output = redact(args["text"], "code" if args.get("code_file") else mode)
    same = output == case["observed"]["values"]["output"]
    assert same is (case["id"] not in DEVIATIONS)


def test_every_listed_deviation_names_a_case() -> None:
    assert DEVIATIONS.keys() <= {case["id"] for case in ROWS}


# Each text holds the word hunter2 or an upper-case run that must not survive.
@pytest.mark.parametrize(
    "text",
    [
        "DB_PASS=hunter2",
        "export PGPASSWORD=hunter2",
        "db.password=hunter2",
        "spring.datasource.password: hunter2",
        "Password = hunter2",
        "{'api_key': 'hunter2'}",
        '{"apiKey": "hunter2"}',
        r"{\"clientSecret\": \"hunter2\"}",
        r'"{\\\"client_secret\\\": \\\"hunter2\\\"}"',
        r"first line\npassword=hunter2",
        "password=a,hunter2",
        "PASSWORD='a b hunter2'",
        "const apiKey: string = 'hunter2'",
        "<password>hunter2</password>",
        '<add key="DbPassword" value="hunter2"/>',
        "- name: DB_PASSWORD\n  value: hunter2",
        '{"Name": "DB_PASSWORD", "Value": "hunter2"}',
        "mysql --password hunter2",
        "curl -d 'user=a&password=hunter2&x=1' h",
        "user=a&token=hunter2&x=1",
        "Server=h;Uid=sa;Password=hunter2;",
        "machine h login u password hunter2",
        "12|SECRET_KEY=hunter2",
        "A_TOKEN=a1hunter2b\0B=1",
        "\x1b[1mpassword\x1b[0m: \x1b[32mhunter2\x1b[0m",
    ],
)
def test_plain_text_loses_every_assignment_to_a_secret_name(text: str) -> None:
    assert "hunter2" not in redact(text)


@pytest.mark.parametrize("mode", ["text", "file", "terminal", "code"])
@pytest.mark.parametrize(
    "text",
    [
        "Authorization: Bearer hunter2abcdefghij",
        '"Authorization": "Bearer hunter2abcdefghij"',
        "-H 'authorization: token xhunter2abcdefghij'",
        'Authorization: Digest username="u", response="0hunter2456789"',
        "x-api-key: xhunter2abcdefghi",
        '"X-Auth-Token": "xhunter2abcdefghij9"',
        "Cookie: theme=dark; session=hunter2",
        "Set-Cookie: sid=hunter2; Path=/; HttpOnly",
        "'Cookie': 'session=hunter2'",
        "curl --cookie 'session=hunter2' h",
        "X-Session-Id: x0123hunter2456789",
        "curl -u admin:hunter2 https://h",
        "postgres://u:hunter2@h/db",
        "mongodb+srv://u:p@hunter2@h/db",
        "redis://:hunter2@h:6379/0",
        "https://u:hunter2@h/x.git",
        "https://ghunter2x@h/x.git",
        "DB_PASS=hunter2",
        'docker run -e "X_SECRET=xhunter2"',
        '{"apiKey": "hunter2x"}',
        "aws_secret_access_key = wJalrXUtnhunter2K7MDENG",
        "AccountName=a;AccountKey=abcDEFhunter2456789012==;Suffix=x",
        "sk-abc\u200bdefghunter2",
        "sk-abc\x1b[0mdefghunter2",
        "sk-abc\x00defghunter2",
        r'"line\nghp_ABCDhunter2EFGH"',
        "123456789:AAF-hunter2jklmnopqrstuvwxyz0123",
        "eyJhbGciOiJIUzI1NiJ9.eyJhunter2IiOiIxIn0.abcdEFGH",
        "0123456789abcdef0123456789abcdef.ABChunter2FGHIJKLMNOP",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEhunter2",
        "-----BEGIN RSA PRIVATE KEY-----\nMIIEhunter2\nAAAA\n-----END RSA PRIVATE KEY-----",
        r'"-----BEGIN PRIVATE KEY-----\nMIIEhunter2\nAAAA"',
        "1|-----BEGIN OPENSSH PRIVATE KEY-----\n2|b3Bhunter2AAAA\n3|AAAA",
        "hunter2AAAABBBBCCCCDDDD\nabc=\n-----END EC PRIVATE KEY-----\n",
        "kind: Secret\ndata:\n  name: hunter2\ntype: Opaque",
        "- apiVersion: v1\n  data:\n    tls.crt: hunter2\n  kind: Secret",
        "kind: Secret\nstringData:\n  notes: |\n    line\n    hunter2",
        '{"kind": "Secret", "data": {"a": "b", "name": "hunter2"}}',
    ],
)
def test_what_is_secret_by_its_form_is_masked_in_every_mode(text: str, mode: Mode) -> None:
    masked = redact(text, mode)
    assert "hunter2" not in masked
    assert carries_mask(masked) or mode != "file"


def test_basic_credentials_are_known_by_what_they_decode_to() -> None:
    assert redact("Basic dXNlcjpwYXNz", "code") == "Basic ***"
    assert redact("Basic Operations", "text") == "Basic Operations"


BENIGN = r"""
password = getpass()
password = getpass.getpass("Password: ")
def unix_getpass(prompt='Password: ', stream=None):
token = os.environ["X"]
token = os.getenv("GITHUB_TOKEN")
api_key=os.environ.get("OPENAI_API_KEY", "")
self.api_key = api_key
self.password = settings.password
self.user, self.password = user, password
const token = process.env.TOKEN;
const apiKey = await getApiKey();
token := r.Header.Get("X-Token")
private String password;
def login(user: str, password: str) -> Token:
password: Optional[str] = None
"password": {"type": "string", "minLength": 8},
"password": "required|min:8",
if password == "hunter2":
key = lambda x: x.name
for key, value in d.items():
public_key = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIExampleExampleExample user@host"
cache_key = f"user:{user_id}"
token: ${{ secrets.GITHUB_TOKEN }}
password: ${DB_PASSWORD}
api_key: "{{ vault_api_key }}"
API_KEY=<your-api-key>
OPENAI_API_KEY=your-api-key-here
Authorization: Bearer ${TOKEN}
"Authorization": f"Bearer {token}"
headers = {"Authorization": "Bearer " + token}
MAX_TOKENS=4096
"total_tokens": 1532
KEYBOARD=us
SECRET=$HOME/x
PWD=/home/user/project
PASSWORD_MIN_LENGTH=8
key_file=/etc/ssl/private/x.pem
token_url = "https://auth.example.org/token"
author: Bob
PASS: tests/test_a.py
pass: 12, fail: 0
commit 77e7240ab3c1f0d9e8a7b6c5d4e3f2a1b0c9d8e7
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
"request_id": "123e4567-e89b-12d3-a456-426614174000"
npm_config_registry=https://registry.example.org
from huggingface_hub import hf_hub_download
<div class="sk-fading-circle-container fc-daygrid-day-number">
![img](data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QD)
session = requests.Session()
cookie: Cookie = Cookie()
https://example.org/?token=abc&y=1
ssh://git@github.com/x/y.git
git@github.com:x/y.git
postgres://localhost:5432/db
http://localhost:8080/@scope/pkg
2024-01-02T03:04:05+00:00
credentials: same-origin
<label for="password">Password</label>
"nextPageToken": "CAUQAA12345abcDEF678"
The password is wrong. Secret: it works.
password: the one you chose earlier
-----BEGIN PUBLIC KEY-----
if "-----BEGIN PRIVATE KEY-----" in text:
** bold *** and ---
DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/1000/bus
""".strip().splitlines()


BENIGN += (CASES / "redact_benign.txt").read_text("utf-8").splitlines()


@pytest.mark.parametrize("mode", ["text", "file", "terminal", "code", "log"])
@pytest.mark.parametrize("line", BENIGN)
def test_code_and_prose_without_secrets_pass_unchanged(line: str, mode: Mode) -> None:
    assert redact(line, mode) == line


@pytest.mark.parametrize(
    "line",
    [
        "password = 'secret'",
        'SECRET_KEY = env("SECRET_KEY")',
        "password=pw, token=token2,",
        'labels = {"password": "Password", "token": "Token"}',
        "postgres://user:password@localhost/db",
        "@@ -1 +1 @@\n+1234567890,",
    ],
)
@pytest.mark.parametrize("mode", ["file", "terminal", "code"])
def test_placeholders_in_code_pass_unchanged(line: str, mode: Mode) -> None:
    assert redact(line, mode) == line


@pytest.mark.parametrize(
    ("command", "output"),
    [
        ("env", "A_KEY=hunter2hunter2"),
        ("/usr/bin/env -0 | sort", "my_password=hunter2"),
        ("cd x && export -p", 'declare -x DB_PASS="hunter2"'),
        ("sudo -u root printenv", "my_password=hunter2"),
        ("ssh host 'cat .env'", "my_password=hunter2"),
        ("docker exec c env", "my_password=hunter2"),
        ("docker inspect c", '"X_SECRET=hunter2"'),
        ("kubectl get secret -o yaml", "password: hunter2"),
        ("cat < ~/.netrc", "login a password: hunter2"),
        ("head -n 5 ~/.hermes/config.yaml", "api_key: hunter2"),
        ("python -c \"print(open('.env').read())\"", "my_password=hunter2"),
        ("tr '\\0' '\\n' < /proc/1/environ", "my_password=hunter2"),
        ("git show HEAD:.env", "my_password=hunter2"),
        ("kubectl get secret x -o jsonpath='{.data.a}' | base64 -d", "hunter2"),
        ("gh auth token", "hunter2"),
    ],
)
def test_output_of_a_command_that_prints_secrets_is_read_as_plain_text(
    command: str, output: str
) -> None:
    assert "hunter2" not in Redactor().terminal(output, command)


@pytest.mark.parametrize(
    "command", ["make", "set -e; make", "env FOO=1 make", "ls -la .env", "cat .env.example"]
)
def test_output_of_another_command_is_read_as_code(command: str) -> None:
    output = "my_password: sunshine\nself.password = changed"
    assert Redactor().terminal(output, command) == output


def test_the_message_of_a_failed_secret_command_stays_readable() -> None:
    output = "Error from server (NotFound): secrets x not found"
    command = "kubectl get secret x -o jsonpath={.data.a}"
    assert Redactor().terminal(output, command) == output


def test_known_values_are_masked_wherever_they_stand() -> None:
    redactor = Redactor(secrets=["correct horse", "correct horse battery", "short", ""])
    text = "say correct horse battery, correct\u200b horse; short"
    assert redactor.redact(text, "code") == "say ***, ***; short"


def test_a_disabled_redactor_changes_nothing() -> None:
    text = "DB_PASS=hunter2 literal-secret"
    assert Redactor(enabled=False, secrets=["literal-secret"]).redact(text) == text
    assert Redactor(enabled=False).terminal("hunter2", "gh auth token") == "hunter2"


@pytest.mark.parametrize(
    ("text", "carries"),
    [
        (redact("ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345", "file"), True),
        (redact("ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345"), True),
        ("A=1\nAPI_KEY=***\n", True),
        ("export DB_PASS='***'", True),
        ("postgres://u:***@h/db", True),
        ("https://***@h", True),
        ("call +141****2671", True),
        ("[REDACTED PRIVATE KEY]", True),
        ("# ***\n**bold** and *** rule", False),
        ("wait... sk-learn and so on...", False),
        ("for key in x: ...", False),
        ("API_KEY=abcd", False),
    ],
)
def test_a_mask_is_recognised_in_what_is_about_to_be_written(text: str, carries: bool) -> None:
    assert carries_mask(text) is carries


@pytest.mark.parametrize(
    ("command", "holds"),
    [
        ("echo 'API_KEY=«redacted:sk-…»' >> .env", True),
        ("cat > .env <<'E'\nAPI_KEY=***\nE", True),
        ("echo DB_PASS=*** >> .env", True),
        ('printf \'{"api_key": "***"}\' | tee config.json', True),
        ("sed -i 's/^TOKEN=.*/TOKEN=***/' .env", True),
        ("python -c \"open('.env','w').write('API_KEY=***')\"", True),
        ("export OPENAI_API_KEY=sk-abc...wxyz; ./run", True),
        ("echo '[REDACTED PRIVATE KEY]' > id_rsa", True),
        ("echo '*** done ***' > log", False),
        ("grep -n 'key: \\*\\*\\*' notes.md", False),
        ("grep 'password=***' app.log 2>&1", False),
        ("echo wait... > file", False),
        ("API_KEY=abc ./run > out", False),
    ],
)
def test_a_command_that_would_write_a_mask_is_recognised(command: str, holds: bool) -> None:
    assert holds_sentinel(command) is holds


@pytest.mark.parametrize(
    "secret",
    [
        "sk-abcdefghijklmnopqrstuvwxyz0123456789",
        "ghp_ABCDEFGHIJKLMNOPQRSTUVWXYZ012345",
        "Authorization: Bearer abcdefghij0123456789klmnop",
        "x-api-key: abcdefghij0123456789klmnop",
        "DB_PASS=abcdefghij0123456789klmnop",
        "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abcdEFGH",
    ],
)
def test_no_part_of_a_secret_reaches_a_log(secret: str) -> None:
    body = secret.split()[-1].split("=")[-1].removeprefix("sk-").removeprefix("ghp_")
    shown = redact(f"request failed: {secret}", "log")
    assert "«redacted:" in shown
    assert not any(body[at : at + 4] in shown for at in range(len(body) - 3))


def test_a_private_key_with_a_comment_that_holds_another_is_masked() -> None:
    begin = "-----BEGIN PRIVATE KEY-----"
    text = f"{begin}\nComment: a{begin}\nQUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo=\n"
    assert "QUJD" not in redact(text)


def test_the_filter_masks_what_is_piped_through_it_and_keeps_every_other_byte(
    program: Program,
) -> None:
    def pipe(data: bytes, *options: str) -> bytes:
        return program.run("redact", *options, stdin=data).stdout

    assert pipe(b"\xff\x00\r\nDB_PASS=hunter2\r\n\xfe") == b"\xff\x00\r\nDB_PASS=***\r\n\xfe"
    assert "«redacted:" in pipe(b"DB_PASS=hunter2", "--mode", "file").decode()
    assert pipe(b"my_pw: sunny", "--mode", "terminal") == b"my_pw: sunny"
    assert pipe(b"my_pw: sunny", "--mode", "terminal", "--command", "env") == b"my_pw: ***"
