"""Files: the end of a 100 MB log, a search in 50,000 files, an edit of 5 MB, a write of 10 MB, a miss."""
import json
import os
import random
import shutil
import subprocess
import time

from benchlib import WORK, emit, fail, med, run, tail

B = "files"
MISSES = 3


def big_log(d):
    log = d + "/big.log"
    if not os.path.exists(log) or os.path.getsize(log) < 100e6:
        os.makedirs(d, exist_ok=True)
        rnd = random.Random(3)
        with open(log, "w") as f:
            n = 0
            while f.tell() < 100_000_000:
                f.write("".join("2026-01-01T00:00:00.%06d INFO worker-%02d request id=%08d path=/api/v1/items/%d status=200 took=%dms\n"
                                % (rnd.randrange(10 ** 6), k % 16, n + k, rnd.randrange(10 ** 6), rnd.randrange(900)) for k in range(10000)))
                n += 10000
        os.utime(log, (time.time() - 3600,) * 2)
    with open(log, "rb") as f:
        return log, sum(x.count(b"\n") for x in iter(lambda: f.read(1 << 20), b""))


def big_tree(d):
    tree = d + "/tree"
    if not os.path.exists(tree + "/.done"):
        rnd = random.Random(5)
        words = ["alpha", "beta", "gamma", "delta", "handler", "return", "import", "value", "config", "session"]
        for i in range(50000):
            p = "%s/d%02d/e%02d" % (tree, i % 50, i // 50 % 20)
            if i < 1000:
                os.makedirs(p, exist_ok=True)
            with open("%s/f%05d.py" % (p, i), "w") as f:
                for k in range(rnd.randint(5, 30)):
                    f.write("%s = %s(%s)\n" % (rnd.choice(words), rnd.choice(words), rnd.choice(words)))
                if i % 12500 == 77:
                    f.write("needle_%d = 'here'\n" % (i // 12500))
        open(tree + "/.done", "w").close()
    return tree


def five_mb(d):
    five = d + "/five.txt"
    with open(five, "w") as f:
        for i in range(50000):
            f.write("entry %06d: %s\n" % (i, "lorem ipsum dolor sit amet consectetur adipiscing elit sed do eiusmod tempor"))
    return five


def similar_lines(d):
    path = d + "/similar.txt"
    with open(path, "w") as f:
        for i in range(20000):
            f.write("    result_%05d = compute(value, offset=%d, scale=%d)\n" % (i, i % 97, i % 13))
    return path


def timed(fn, n=7):
    fn(n)                                           # warm: a fresh tree is not in the page cache
    xs = []
    for i in range(n):
        t = time.perf_counter()
        fn(i)
        xs.append((time.perf_counter() - t) * 1e3)
    return med(xs)


def limits(d, log, tree, five, ten, rg):
    def seek_tail(i):
        with open(log, "rb") as f:
            k = 0
            while x := f.read(1 << 20):
                k += x.count(b"\n")

    def rawpatch(i):
        with open(five) as f:
            s = f.read()
        k = s.index("entry %06d: lorem" % (45000 + i))
        with open(five + "~", "w") as f:
            f.write(s[:k] + "entry %06d: LOREM" % (45000 + i) + s[k + 19:])
        os.replace(five + "~", five)

    def rawwrite(i):
        with open(d + "/ten~", "w") as f:
            f.write(ten)
        os.replace(d + "/ten~", d + "/ten.txt")
    emit(B, "limit", "read_tail", timed(seek_tail), "ms", what="count newlines in 1 MB blocks")
    if rg:
        emit(B, "limit", "search", timed(lambda i: subprocess.run([rg, "-n", "needle_%d" % (i % 4), tree], capture_output=True)), "ms", what="ripgrep")
        emit(B, "limit", "narrow", timed(lambda i: subprocess.run([rg, "-n", "needle_%d" % (i % 4), "-g", "f1257*", tree], capture_output=True)), "ms", what="ripgrep, one glob")
        emit(B, "limit", "names", timed(lambda i: subprocess.run([rg, "--files", "-g", "f0%d57*" % i, tree], capture_output=True)), "ms", what="ripgrep --files")
    emit(B, "limit", "patch_5mb", timed(rawpatch), "ms", what="read, replace, write, rename")
    emit(B, "limit", "write_10mb", timed(rawwrite), "ms", what="write, rename (no fsync)")
    emit(B, "limit", "write_10mb.json", timed(lambda i: json.loads(json.dumps({"content": ten}))), "ms", what="the JSON round trip of the argument alone")


def files(cs, mock, o):
    d = os.path.join(WORK, "files")
    log, lines = big_log(d)
    tree, five, similar = big_tree(d), five_mb(d), similar_lines(d)
    ten = ("%063d\n" % 7) * (10_000_000 // 64)
    rg = shutil.which("rg") or next((p for c in cs if os.path.exists(p := c.venv + "/bin/rg")), None)
    limits(d, log, tree, five, ten, rg)
    for c in cs:
        if not c.tool("read", path="x"):
            continue
        five_mb(d)
        gaps(c, mock, d, "read_tail", [c.tool("read", path=log, offset=lines - 300 - 37 * i, limit=200) for i in range(7)])
        gaps(c, mock, d, "search", [c.tool("search", pattern="needle_%d" % (i % 4) if i < 4 else "needle_%d.*here" % (i % 4), path=tree) for i in range(7)])
        gaps(c, mock, d, "narrow", [c.tool("search", pattern="needle_%d" % (i % 4) if i < 4 else "needle_%d.*here" % (i % 4), path=tree, file_glob="f1257*") for i in range(7)])
        gaps(c, mock, d, "names", [c.tool("search", pattern="f0%d57*" % i, path=tree, target="files") for i in range(7)])
        patches(c, mock, d, five)
        gaps(c, mock, d, "miss", [c.tool("patch", path=similar, old="    result_%05d = compute(velue, offset=%d, scael=3)\n    nothing_like_it()" % (9000 + i, i), new="x") for i in range(MISSES)])
        writes(c, mock, d, ten, o)


def turn(c, mock, calls, lane, d, limit=300):
    from benches import setup, with_final
    steps = [{"tool": t[0], "args": t[1]} for t in calls]
    home, base = setup(c, mock, lane, steps=with_final(c, steps), mode="count")
    argv = c.oneshot(home, base, "Do the bench steps.")
    if not argv:
        return None, None
    return run(argv, c.env(home), limit, cwd=d, tag=c.name + "-" + lane.split("-")[0]), mock.stats(lane)


def gaps(c, mock, d, what, calls):
    r, s = turn(c, mock, calls, "files_%s-%s" % (what, c.name), d)
    if r is None:
        return
    if len(s["gaps_ms"]) < len(calls):
        fail(B, c.name, "%s: %d of %d, rc %s %s" % (what, s["count"], len(calls), r["rc"], tail(r["err"])), what=what)
    if s["gaps_ms"]:
        emit(B, c.name, what, med(s["gaps_ms"][1:]), "ms", first=s["gaps_ms"][0], all=s["gaps_ms"], rss_mb=r["rss_mb"],
             ok=sample(s), chars=[t["chars"] for t in s["tool_results"]])


def patches(c, mock, d, five):
    """Read the neighbourhood first, then edit, so that read-before-edit rules are met."""
    calls = []
    for i in range(5):
        n = 45000 + 300 * i
        calls.append(c.tool("read", path=five, offset=n - 5, limit=20))
        calls.append(c.tool("patch", path=five, old="entry %06d: lorem" % n, new="entry %06d: LOREM" % n))
    r, s = turn(c, mock, calls, "files_patch-" + c.name, d)
    if r is not None and s["gaps_ms"]:
        with open(five) as f:
            done = f.read().count("LOREM")
        emit(B, c.name, "patch_5mb", med(s["gaps_ms"][3::2]), "ms", all=s["gaps_ms"], applied=done, of=5, rss_mb=r["rss_mb"], ok=sample(s, 1))


def writes(c, mock, d, ten, o):
    xs, rs, okc = [], None, 0
    for k in range(o.write_n):
        p = d + "/w10.txt"
        if os.path.exists(p):
            os.unlink(p)
        r, s = turn(c, mock, [c.tool("write", path=p, content=ten)], "files_write%d-%s" % (k, c.name), d, 120)
        if r is None:
            return
        rs = r
        if s["gaps_ms"]:
            xs.append(s["gaps_ms"][0])
        okc += os.path.exists(p) and abs(os.path.getsize(p) - len(ten)) < 2
    if xs:
        emit(B, c.name, "write_10mb", med(xs), "ms", all=xs, written=okc, of=o.write_n, rss_mb=rs["rss_mb"], ok=sample(s))


def sample(s, k=0):
    return s["tool_results"][k]["head"][:120] if len(s["tool_results"]) > k else None
