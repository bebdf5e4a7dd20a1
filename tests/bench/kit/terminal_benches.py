"""The terminal, sandbox and all: the smallest command, the first one, 50 MB of output, a stop."""
import os
import select
import signal
import subprocess
import time

from benchlib import WORK, clean_env, emit, fail, fresh, med, pct, tail
from file_benches import sample, turn

B = "terminal"
TRUES = 100
FLOOD = "yes %s | head -c 50000000" % ("0123456789" * 6 + "0123")
STUBBORN = ("exec 9>%s; (setsid sh -c 'trap \"\" TERM; sleep 300; sleep 300' &); "
            "trap '' TERM; sleep 0.2; echo >&9; sleep 300; sleep 300")


def limit(what, command, n):
    xs = []
    for _ in range(n):
        t = time.perf_counter()
        subprocess.run(["bash", "-c", command], capture_output=True)
        xs.append((time.perf_counter() - t) * 1e3)
    emit(B, "limit", what, med(xs), "ms", min=min(xs), p95=pct(xs, .95), what="bash -c, output captured whole")


def terminal(cs, mock, o):
    limit("true", "true", TRUES)
    limit("output_50mb", FLOOD, 5)
    for c in cs:
        if not c.tool("terminal", command="true"):
            continue
        d = fresh(os.path.join(WORK, "term"))
        trues(c, mock, d, o)
        flood(c, mock, d)
        stop(c, mock, d)


def trues(c, mock, d, o):
    """A new session each time, so that there are several first commands."""
    firsts, rest, s = [], [], None
    for k in range(o.n):
        r, s = turn(c, mock, [c.tool("terminal", command="true # %d" % i) for i in range(TRUES)], "term_true%d-%s" % (k, c.name), d)
        if r is None:
            return
        if len(s["gaps_ms"]) < TRUES:
            fail(B, c.name, "true: %d of %d, rc %s %s" % (s["count"], TRUES, r["rc"], tail(r["err"])))
            return
        firsts.append(s["gaps_ms"][0])
        rest += s["gaps_ms"][1:]
    emit(B, c.name, "true", med(rest), "ms", min=min(rest), p95=pct(rest, .95), n=len(rest), ok=sample(s))
    emit(B, c.name, "first", med(firsts), "ms", min=min(firsts), all=firsts)


def flood(c, mock, d):
    r, s = turn(c, mock, [c.tool("terminal", command=FLOOD + " # %d" % i) for i in range(5)], "term_50mb-" + c.name, d)
    if r is None or not s["gaps_ms"]:
        fail(B, c.name, "50 MB: %s" % (r and tail(r["err"])))
        return
    g = s["gaps_ms"]
    emit(B, c.name, "output_50mb", med(g), "ms", min=min(g), all=g, rss_mb=r["rss_mb"], kept_chars=s["tool_results"][-1]["chars"], ok=sample(s))


def stop(c, mock, d):
    """From Ctrl-C until no process of the command holds the FIFO any more."""
    from benches import setup, with_final
    xs = []
    for k in range(3):
        fifo = os.path.join(d, "leash%d" % k)
        os.mkfifo(fifo)
        fd = os.open(fifo, os.O_RDONLY | os.O_NONBLOCK)
        script = os.path.join(d, "stubborn%d.sh" % k)
        with open(script, "w") as f:                    # a guard would refuse the `&` in a command
            f.write(STUBBORN % fifo)
        tool = c.tool("terminal", command="bash " + script)
        home, base = setup(c, mock, "term_stop%d-%s" % (k, c.name), steps=with_final(c, [{"tool": tool[0], "args": tool[1]}]), mode="count")
        p = subprocess.Popen(c.oneshot(home, base, "Do the bench step."), env=clean_env(c.env(home)), cwd=d,
                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            if not select.select([fd], [], [], 30)[0]:
                fail(B, c.name, "stop: the command did not start")
                return
            t = time.perf_counter()
            p.send_signal(signal.SIGINT)
            xs.append(gone(fd, t))
        finally:
            p.kill()
            p.wait()
            os.close(fd)
    emit(B, c.name, "stop", med(xs), "ms", max=max(xs), all=xs)


def gone(fd, since):
    while time.perf_counter() - since < 30:
        if select.select([fd], [], [], 1)[0] and not os.read(fd, 100):
            return (time.perf_counter() - since) * 1e3
    return float("inf")
