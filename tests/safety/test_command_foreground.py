"""Which commands are refused in the foreground, and which only look like those."""

import pytest

from hermes.safety.commands.foreground import foreground_refusal


@pytest.mark.parametrize(
    "command",
    [
        "cmd &",
        "cmd&",
        "cmd & echo started",
        "curl http://x?a=1&b=2",
        "(cmd &)",
        "echo $(cmd &)",
        "bash -c 'cmd &'",
        "if true; then cmd & fi",
        "nohup cmd",
        "ls; setsid cmd",
        "cmd & disown",
        "npm run dev",
        "npm start",
        "npm --prefix web run dev",
        "yarn dev",
        "cd web && pnpm dev",
        "vite",
        "npx vite",
        "npx -y http-server",
        "next dev",
        "nodemon a.js",
        "uvicorn a:b",
        "python -m uvicorn a:b",
        "python3 -m http.server 8000",
        "sudo env A=1 gunicorn x",
        "poetry run uvicorn a:b",
        "uv run uvicorn a:b",
        "python manage.py runserver",
        "docker compose up",
    ],
)
def test_what_does_not_end_or_leaves_children_is_refused_with_the_way_that_works(
    command: str,
) -> None:
    refusal = foreground_refusal(command)
    assert refusal is not None
    assert "background=true" in refusal


@pytest.mark.parametrize(
    "command",
    [
        "grep uvicorn f",
        "pip show gunicorn",
        'echo "a & b"',
        "git commit -m 'run nohup x & y'",
        "make 2>&1",
        "make &> log",
        "a && b",
        'curl "http://x?a=1&b=2"',
        "cat <<EOF\na & b\nnohup x\nEOF",
        "vite build",
        "npm run build",
        "npm test",
        "yarn add serve",
        "uvicorn --help",
        "docker compose up -d",
        "timeout 5 uvicorn a:b",
        "ssh h 'nohup x &'",
        "python manage.py migrate",
        "echo 'unclosed",
    ],
)
def test_what_only_mentions_such_a_thing_is_not(command: str) -> None:
    assert foreground_refusal(command) is None
