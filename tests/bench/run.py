"""`make bench`: the figures of docs/performance.md, each beside its limit from the same run.

Runs the kit (startup, one-shot, a long turn, files, the terminal, the store) on this very
environment, then the resume of a session of 10,000 entries. On a busy machine trust ratios and
minima.
"""

import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
HERMES = Path(sys.executable).with_name("hermes")
ENTRIES = 10_000


def kit(folder: Path) -> dict[tuple[str, str, str], dict[str, Any]]:
    """Rows of the bench kit by (bench, who, metric)."""
    env = {
        **os.environ,
        "BENCH_OURS": str(Path(sys.executable).parent.parent),
        "BENCH_OURS_STORE": str(HERE / "store_driver.py"),
        "BENCH_CACHE": str(folder),
    }
    env.pop("PYTHONDONTWRITEBYTECODE", None)
    command = [
        sys.executable,
        "run.py",
        "-b",
        "startup,oneshot,loop,files,terminal,store",
        "-c",
        "ours",
    ]
    command += ["--messages", "20000", "-n", "9"]
    run = subprocess.run(command, cwd=HERE / "kit", env=env, capture_output=True, check=True)
    rows = (json.loads(line) for line in run.stdout.splitlines() if line.startswith(b"{"))
    return {(row["bench"], row["who"], row["metric"]): row for row in rows}


def child_cpu(command: list[str], env: dict[str, str]) -> tuple[float, float]:
    """Wall and CPU milliseconds of one run of `command`."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    subprocess.run(command, env=env, stdin=subprocess.DEVNULL, capture_output=True, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return (time.perf_counter() - start) * 1e3, cpu * 1e3


def resume(folder: Path) -> float:
    """Milliseconds that a one-shot on a session of 10,000 entries takes beyond a fresh one."""
    sys.path[:0] = [str(HERE), str(HERE.parent / "support")]
    from hermes.sdk.testing.model_server import ScriptedModel
    from long_session import make  # lazy: found beside this script

    home = folder / "resume-home"
    home.mkdir()
    id = make(home / "hermes.db", ENTRIES)
    with ScriptedModel(lambda _: "ok", strict=False, check_prefix=False) as model:
        (home / "config.yaml").write_text(
            f"model:\n  default: m\n  provider: custom\n  base_url: {model.base_url}\n",
            encoding="utf-8",
        )
        env = {"PATH": os.environ["PATH"], "HERMES_HOME": str(home), "HOME": str(folder)}
        fresh, long = [], []
        for number in range(9):
            wall, _ = child_cpu([str(HERMES), "-z", "hi"], env)
            longer, _ = child_cpu([str(HERMES), "--resume", id, "-z", "hi"], env)
            if number:
                fresh.append(wall)
                long.append(longer)
                # The model's own time for the longer request is not ours.
                model.requests.clear()
    return statistics.median(long) - statistics.median(fresh)


def figures(rows: dict[tuple[str, str, str], dict[str, Any]]) -> list[tuple[str, str]]:
    """What docs/performance.md shows, from the kit's rows."""

    def value(bench: str, who: str, metric: str, key: str = "value") -> float:
        return float(rows[bench, who, metric][key])

    def ratio(bench: str, metric: str, key: str = "value") -> str:
        return f"{value(bench, 'ours', metric, key) / value(bench, 'limit', metric):.2f} times"

    calls = 84
    version = value("startup", "ours", "version.wall") / value(
        "startup", "limit", "python-pass.wall"
    )
    one_shot = value("oneshot", "ours", "cpu")
    cpu_per_call = (value("loop", "ours", "process.cpu") - one_shot) / calls
    scale = value("startup", "limit", "python-pass.cpu")
    return [
        ("`--version`, wall, of `python -c pass`", f"{version:.2f} times"),
        ("one-shot, CPU, of python and one request", ratio("oneshot", "cpu")),
        ("one-shot, peak RSS, of the same", ratio("oneshot", "rss")),
        ("CPU for each tool call of an 84-call turn", f"{cpu_per_call:.1f} ms"),
        ("gap, `terminal` echo", f"{value('loop', 'ours', 'gap.terminal'):.1f} ms"),
        ("its limit, `bash -c echo`", f"{value('loop', 'limit', 'gap.terminal'):.1f} ms"),
        ("gap, `read_file`", f"{value('loop', 'ours', 'gap.read'):.1f} ms"),
        ("gap, `patch` of a small file", f"{value('loop', 'ours', 'gap.patch'):.1f} ms"),
        *file_figures(value),
        *terminal_figures(value),
        (
            "gap, last quarter of a long turn over the first",
            f"{value('loop', 'ours', 'gap.last_quarter_over_first'):.2f} times",
        ),
        ("appending one entry, median", f"{value('store', 'ours', 'insert.one'):.3f} ms"),
        ("its limit, one insert with FTS5", f"{value('store', 'limit', 'insert.one'):.3f} ms"),
        ("prefix breaks", f"{value('loop', 'ours', 'prefix_breaks'):.0f}"),
        ("`python -c pass`, CPU, to scale by", f"{scale:.1f} ms"),
    ]


def file_figures(value: Callable[..., float]) -> list[tuple[str, str]]:
    """The rows of the bench `files`: ours, and the limit of the same run."""

    def both(what: str, metric: str, limit: str, key: str = "value") -> tuple[str, str]:
        ours, least = value("files", "ours", metric, key), value("files", "limit", limit)
        return what, f"{ours:.1f} ms ({ours / least:.2f} times {least:.1f} ms)"

    return [
        both("lines near the end of a 100 MB log, first time", "read_tail", "read_tail", "first"),
        ("the same again", f"{value('files', 'ours', 'read_tail'):.1f} ms"),
        ("peak RSS of that", f"{value('files', 'ours', 'read_tail', 'rss_mb'):.0f} MB"),
        both("search in 50,000 files", "search", "search"),
        both("patch in a 5 MB file", "patch_5mb", "patch_5mb"),
        both("write 10 MB, verified", "write_10mb", "write_10mb"),
        ("a miss on 20,000 similar lines", f"{value('files', 'ours', 'miss'):.1f} ms"),
    ]


def terminal_figures(value: Callable[..., float]) -> list[tuple[str, str]]:
    """The rows of the bench `terminal`, whose commands run in the sandbox."""

    def both(what: str, metric: str) -> tuple[str, str]:
        ours, least = value("terminal", "ours", metric), value("terminal", "limit", metric)
        return what, f"{ours:.1f} ms ({least:.1f} ms)"

    return [
        both("gap, `true` in the sandbox (`bash -c true`)", "true"),
        ("gap, the first command of a session", f"{value('terminal', 'ours', 'first'):.1f} ms"),
        both("gap, 50 MB of output (`bash -c`, all kept)", "output_50mb"),
        ("peak RSS of that", f"{value('terminal', 'ours', 'output_50mb', 'rss_mb'):.0f} MB"),
        (
            "stop of a tree that ignores TERM and left its session, the slowest of 3",
            f"{value('terminal', 'ours', 'stop', 'max'):.0f} ms",
        ),
    ]


def main() -> int:
    """Print one table."""
    with tempfile.TemporaryDirectory(prefix="hermes-bench-") as name:
        folder = Path(name)
        table = figures(kit(folder))
        beyond = resume(folder)
    what = f"resuming a session of {ENTRIES:,} entries, beyond a one-shot"
    table.append((what, f"{beyond:.0f} ms"))
    print("| figure | measured |\n|---|---|")
    for what, measured in table:
        print(f"| {what} | {measured} |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
