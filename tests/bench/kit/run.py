#!/usr/bin/env python3
"""Run the benches side by side: run.py [-b loop,store] [-c hermes-0.19,pi] [--quick]

`silent_dns` (run it alone) repeats the one-shot with a resolver that never answers.

Everything but `install` runs in a network namespace of its own which holds only
the loopback (where `unshare -n` is allowed), so that no contender waits on, or
reaches, an outside host.
"""
import argparse
CACHE = __import__("os").path.expanduser(__import__("os").environ.get("BENCH_CACHE", "~/.cache/hermes-bench"))
PEERS = __import__("os").environ.get("BENCH_PEERS", CACHE + "/peers")
import os
import subprocess
import sys
import time

KIT = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, KIT)


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("-b", "--benches", default="startup,oneshot,loop,store")
    ap.add_argument("-c", "--contenders", default="")
    ap.add_argument("-n", type=int, default=5, help="repetitions of process-level runs")
    ap.add_argument("--calls", type=int, default=84, help="tool calls in the long turn; hermes -z stops at 90 model calls whatever its configuration says")
    ap.add_argument("--loop-n", type=int, default=3)
    ap.add_argument("--write-n", type=int, default=3)
    ap.add_argument("--sessions", type=int, default=20)
    ap.add_argument("--turns", type=int, default=5)
    ap.add_argument("--settle", type=float, default=10)
    ap.add_argument("--messages", type=int, default=100000)
    ap.add_argument("--store-budget", type=int, default=120, help="seconds of inserting, per contender")
    ap.add_argument("--reinstall", action="store_true")
    ap.add_argument("--install-n", type=int, default=3)
    ap.add_argument("--tiktoken", default=PEERS + "/mini/lib/python3.11/site-packages/litellm/litellm_core_utils/tokenizers")
    ap.add_argument("--netns", choices=("auto", "off"), default="auto")
    o = ap.parse_args()
    names = o.benches.split(",")
    if o.netns == "auto" and "install" not in names and not os.environ.get("BENCH_NETNS"):
        t = subprocess.run(["unshare", "-n", "ip", "link", "set", "lo", "up"], capture_output=True)
        if t.returncode == 0:
            os.environ["BENCH_NETNS"] = "1"
            if "silent_dns" in names:      # a resolver which never answers, as behind a dropped link
                with open("/var/tmp/bench-resolv.conf", "w") as f:
                    f.write("nameserver 127.0.0.1\n")
                os.execvp("unshare", ["unshare", "-nm", "sh", "-c", 'ip link set lo up && mount --bind /var/tmp/bench-resolv.conf /etc/resolv.conf && exec "$@"',
                                      "sh", sys.executable, *sys.argv])
            os.execvp("unshare", ["unshare", "-n", "sh", "-c", 'ip link set lo up && exec "$@"', "sh", sys.executable, *sys.argv])
    import adapters
    import benches
    import benchlib
    for d in (benchlib.WORK, benchlib.LOGS):
        os.makedirs(d, exist_ok=True)
    all_ = adapters.load()
    cs = [all_[n] for n in (o.contenders.split(",") if o.contenders else all_) if n in all_]
    mock = benchlib.Mock()
    try:
        for n in names:
            t = time.time()
            try:
                benches.BENCHES[n](cs, mock, o)
            except Exception as e:
                import traceback
                traceback.print_exc()
                benchlib.fail(n, "kit", repr(e)[:300])
            print("# %s took %.0f s, load %.2f" % (n, time.time() - t, os.getloadavg()[0]), file=sys.stderr, flush=True)
    finally:
        mock.stop()


if __name__ == "__main__":
    main()
