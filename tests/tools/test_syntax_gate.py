"""The syntax gate: what is broken is refused with its place, what the world has is let through."""

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hermes.tools.files.checks.syntax import gate

HELM = """\
apiVersion: v1
kind: Service
metadata:
  name: {{ include "chart.fullname" . }}
  labels:
    {{- include "chart.labels" . | nindent 4 }}
spec:
  {{- if .Values.ports }}
  ports:
  {{- range .Values.ports }}
    - port: {{ .port }}
  {{- end }}
  {{- end }}
"""

WORKFLOW = """\
name: ci
on: [push]
jobs:
  build:
    runs-on: ${{ matrix.os }}
    steps:
      - run: |
          echo "${{ github.sha }}"
\t
          make test\t# all of it
"""

CLOUDFORMATION = """\
Resources:
  Bucket:
    Type: AWS::S3::Bucket
    Properties:
      BucketName: !Sub "${AWS::StackName}-data"
      Tags: !If [Prod, [{Key: a, Value: b}], !Ref "AWS::NoValue"]
"""

BENIGN = [
    # empty, byte order mark, line ends
    ("a.json", ""),
    ("a.json", "\n\n"),
    ("a.yaml", ""),
    ("a.yml", "# only a comment\n"),
    ("a.toml", "\n"),
    ("a.json", '\ufeff{"a": 1}'),
    ("a.yaml", "\ufeffa: 1\n"),
    ("a.toml", "\ufeffa = 1\n"),
    ("a.json", '{\r\n  "a": 1\r\n}\r\n'),
    ("a.yaml", "a: 1\r\nb:\r\n  - x\r\n"),
    ("a.toml", "[a]\r\nb = 1\r\n"),
    # JSON
    ("a.json", "3"),
    ("a.json", '"text"'),
    ("a.json", "1" * 5_000),
    ("a.json", '{"a": 1, "a": 2}'),
    ("a.json", '{"s": "\\ud83d NaN // no comment /* */ ,]"}'),
    ("a.json", '{"id": 1}\n{"id": 2}\n\n{"id": 3}\n'),
    ("a.jsonl", '{"id": 1}\n{"id":'),
    ("a.ndjson", "anything"),
    ("package.json", '{"name": "x", "scripts": {"a": "echo ${A} {{b}}"}}'),
    # JSON with comments, where its reader takes them
    ("tsconfig.json", "{ // c\n" + '"a":1}'),
    ("tsconfig.build.json", '{"files": ["a",], /* c */ }'),
    ("packages/base.json", '{\n  // all\n  "compilerOptions": {"strict": true,}\n}'),
    ("jsconfig.json", "{/* c */}"),
    ("/w/.vscode/settings.json", '{"a": "http://x//y", // c\n}'),
    ("/w/.vscode/launch.json", "// c\n{}"),
    ("/home/me/.config/Code/User/settings.json", "// c\n{}"),
    ("/home/me/.config/Code/User/keybindings.json", "// c\n[]"),
    ("/w/.devcontainer/devcontainer.json", "// c\n{}"),
    ("/w/.devcontainer/python/devcontainer.json", "// c\n{}"),
    (".eslintrc.json", "{\n// c\n}"),
    ("deno.json", "{\n// c\n}"),
    ("angular.json", "{\n// c\n}"),
    ("tslint.json", "{\n// c\n}"),
    ("api-extractor.json", "/** c */\n{}"),
    ("appsettings.Development.json", "{\n// c\n}"),
    ("nx.json", "{\n// c\n}"),
    ("pyrightconfig.json", "{\n// c\n}"),
    ("language-configuration.json", "{\n// c\n}"),
    ("manifest.json", '{\n// c\n"manifest_version": 3}'),
    ("a.jsonc", '{"a": 1, // c\n}'),
    ("x.code-workspace", '{"folders": [],}'),
    ("babel.config.json", "{presets: ['x']}"),
    ("renovate.json", "{extends: ['x'], // c\n}"),
    # templates and values that are put in later
    ("a.yaml", "a: {{ x }}\n{% if y %}\nb: 1\n{% endif %}\n"),
    ("templates/service.yaml", HELM),
    ("a.yml", "<% if a %>\n- <%= b %>\n<% end %>\n"),
    ("a.json", '{"port": {{ port }}, {% if x %}"a": 1{% endif %}}'),
    ("a.json", '{"port": ${PORT}, "host": "${HOST}"}'),
    ("a.json", '{"tags": ${jsonencode({a = "b"})}}'),
    ("a.toml", "port = ${PORT}\nname = '{{ cookiecutter.name }}'\n"),
    ("pyproject.toml", "[project]\nname = {{ name }}\n"),
    ("a.yaml", "ports: [${A}, ${B:-2}]\n"),
    ("a.yaml", "%{ if x ~}\na: 1\n%{ endif ~}\n"),
    # YAML
    (".github/workflows/ci.yml", WORKFLOW),
    ("stack.yaml", CLOUDFORMATION),
    ("a.yaml", "a: 1\n---\nb: 2\n...\n---\n"),
    ("a.yaml", "%YAML 1.1\n---\non: yes\n"),
    ("a.yaml", "a: 1\na: 2\n"),
    ("a.yaml", "base: &base {x: 1}\nb:\n  <<: *base\nc: *elsewhere\n"),
    ("a.yaml", "a:\t1\nb:  [1,\t2]\t# c\n\t\nc:\n  -\td\n"),
    ("a.yaml", "a: |\n  one\n  \ttwo\n\n  three\nb: >-\n  four\n"),
    ("a.yaml", "a: !!binary |\n  R0lG\nb: !custom {x: 1}\n? [k]\n: v\n"),
    ("a.yaml", "- a: 'it''s'\n  b: \"x\\/y\"\n- \U0001f600 é\n"),
    ("docker-compose.yml", "services:\n  a:\n    ports: ['80:80']\n    image: a:${TAG}\n"),
    # TOML, of 1.1 too
    ("Cargo.toml", '[dependencies]\nserde = { version = "1", features = ["derive"] }\n'),
    ("a.toml", "a = {\n  b = 1, # c\n  d = 'x',\n}\n"),
    ("a.toml", 'a = "\\e[0m \\x41"\n'),
    ("a.toml", 'a = """\n"quoted" {\n"""\nb = 1979-05-27T07:32:00Z\n'),
    # what is no business of the gate
    ("a.txt", "{"),
    ("a.py", "def f(:"),
    (".babelrc", "{a: 1}"),
    ("Makefile", "\t@x"),
]

BROKEN = [
    ("a.json", '{"a": }', "line 1, column 7", "'}'"),
    ("a.json", '{"a": 1,\n "b": 2', "line 2, column 8", "end of the file"),
    ("a.json", '{{"a": 1}}', "line 1, column 2", "'{'"),
    ("a.json", '{"a": 1,}', "line 1, column", ""),
    ("data.json", '{\n  // c\n  "a": 1}', "line 2, column 3", "leave them out"),
    ("tsconfig.json", '{"a": // c\n}', "line 2, column 1", "'}'"),
    ("a.json", '{"a": 1} {', "line 1, column 10", "'{'"),
    ("a.yaml", "a: b: c\n", "line 1, column 5", "mapping values"),
    ("a.yaml", "a: [1, 2\nb: 1\n", "line 2, column 2", "flow sequence"),
    ("a.yaml", "a:\n\t- x\n", "line 2, column 1", "\\t"),
    ("a.yaml", "a: \x07\n", "line 1, column 4", "U+0007"),
    ("compose.yml", "a: ${TAG}\nb: [1\n", "line 3, column 1", ""),
    ("ci.yml", "a: ${{ x }}\nb: c: d\n", "line 2, column 5", "mapping values"),
    ("a.toml", "a = \n", "line 1, column 5", "Invalid value"),
    ("a.toml", "a = 1\na = 2\n", "line 2", "overwrite"),
    ("a.toml", 'x = 1\na = "b', "line 2, column 7", "Unterminated"),
    ("a.toml", "a = { b = 1,, }\n", "line 1", ""),
]


@pytest.mark.parametrize(("path", "text"), BENIGN)
def test_what_the_world_has_is_let_through(path: str, text: str) -> None:
    assert gate(path, None, text) is None


@pytest.mark.parametrize(("path", "text", "place", "what"), BROKEN)
def test_broken_text_is_refused_with_its_place(path: str, text: str, place: str, what: str) -> None:
    reason = gate(path, None, text)
    assert reason is not None
    assert place in reason
    assert what in reason


@pytest.mark.parametrize(("path", "text", "place", "what"), BROKEN)
def test_a_file_that_was_broken_before_may_be_written(
    path: str, text: str, place: str, what: str
) -> None:
    assert gate(path, text, text + " ") is None


def test_an_edit_that_breaks_a_good_file_is_refused() -> None:
    reason = gate("a.json", '{"a": 1}\n', '{"a": }\n')
    assert reason
    assert reason.startswith("this would not be valid JSON: line 1, column 7: ")
    assert "one call" in reason


@pytest.mark.parametrize("constant", ["NaN", "Infinity", "-Infinity"])
def test_nan_and_infinity_are_refused_unless_they_were_there(constant: str) -> None:
    text = f'{{"text": "NaN",\n "a": {constant}}}'
    reason = gate("a.json", '{"text": "NaN"}', text)
    assert reason
    assert reason.startswith(f"line 2, column 7: {constant} ")
    assert gate("a.json", '{"x": NaN}', text) is None
    assert gate("a.json", None, '{"a": "Infinity NaN"}') is None


def test_what_cannot_be_judged_in_bounded_time_is_let_through() -> None:
    started = time.monotonic()
    assert gate("a.yaml", None, "a: b: c\n" * 100_000) is None
    assert gate("a.json", None, "[" * 200_000) is None
    assert gate("tsconfig.json", None, "/*" * 200_000) is not None
    assert gate("a.toml", None, 'a = """' * 50_000) is not None
    assert gate("a.json", None, "{{" * 20_000) is not None
    assert gate("a.json", None, "${" * 20_000) is not None
    assert time.monotonic() - started < 20


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES, st.sampled_from(["a.json", "tsconfig.json", "package.json"]), st.booleans())
def test_whatever_json_writes_is_let_through(value: object, path: str, escaped: bool) -> None:
    assert gate(path, None, json.dumps(value, ensure_ascii=escaped)) is None
    assert gate(path, None, json.dumps(value, indent=2)) is None


PIECES = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", ":", ",", '"', "'", "a", " ", "\n", "\t", "{{", "}}", "/*"]
    )
    | st.sampled_from(
        ["*/", "//", "#", "- ", "&a", "*a", "!t ", "|", ">", "%", "${", "<%", "=", "\\"]
    )
    | st.characters(),
    max_size=40,
).map("".join)


@given(
    st.sampled_from(["a.json", "a.jsonc", "a.jsonl", "a.yaml", "a.toml", ".vscode/x.json", "\0"]),
    st.none() | PIECES,
    PIECES,
)
def test_any_text_gets_a_reason_or_none(path: str, old: str | None, new: str) -> None:
    reason = gate(path, old, new)
    assert reason is None or "line " in reason
