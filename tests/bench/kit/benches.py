"""The benchmarks. Each takes (contenders, mock, opts) and emits JSON lines."""
CACHE = __import__("os").path.expanduser(__import__("os").environ.get("BENCH_CACHE", "~/.cache/hermes-bench"))
PEERS = __import__("os").environ.get("BENCH_PEERS", CACHE + "/peers")
import json
import os
import random
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

from benchlib import (HOMES, KIT, LOGS, WORK, clean_env, cpu_s, emit, end, fail, fresh, med, pct, pss_mb, run, tail)

from file_benches import files
from terminal_benches import terminal

PY = sys.executable


def home_of(c):
    return os.path.join(HOMES, "home_perf_bench_" + c.name)


def setup(c, mock, lane, **script):
    """Fresh state, warm configuration: returns (home, base_url)."""
    base = mock.script(lane, **script)
    home = fresh(home_of(c))
    c.prepare(home, base)
    return home, base


def with_final(c, steps):
    """Some runtimes end a turn only through a tool call."""
    f = getattr(c, "final_tool", None)
    return steps + ([{"tool": f[0], "args": f[1]}] if f else [])


def summary(rs):
    return {"wall": med([r["wall_ms"] for r in rs]), "cpu": med([r["cpu_ms"] for r in rs]),
            "rss": med([r["rss_mb"] for r in rs]), "walls": [r["wall_ms"] for r in rs], "cpus": [r["cpu_ms"] for r in rs],
            "rc": rs[-1]["rc"], "err": rs[-1]["err"], "timeout": any(r["timeout"] for r in rs)}


def repeat(argv, n, tag, env=None, limit=120):
    return summary([run(argv, env, limit, tag=tag) for _ in range(n)])


def three(bench, who, what, r):
    ok = {"rc": r["rc"]}
    if r["rc"] != 0:
        ok["why"] = tail(r["err"])
    emit(bench, who, what + ".wall", r["wall"], "ms", all=r["walls"], min=min(r["walls"]), **ok)
    emit(bench, who, what + ".cpu", r["cpu"], "ms", min=min(r["cpus"]), **ok)
    emit(bench, who, what + ".rss", r["rss"], "MB", **ok)


# 1 ------------------------------------------------------------------ cold start
def startup(cs, mock, o):
    b = "startup"
    for name, argv in (("python-pass", [PY, "-c", "pass"]), ("python-httpx-like", [PY, "-c", "import asyncio,json,sqlite3,ssl,http.client,argparse"]),
                       ("node-pass", ["node", "-e", "0"]), ("true", ["true"])):
        if shutil.which(argv[0]):
            three(b, "limit", name, repeat(argv, max(9, o.n), "limit"))
    jobs = []
    for c in cs:
        home, _ = setup(c, mock, "su-" + c.name)
        for what, argv in (("version", c.version), ("help", c.help),
                           ("import", [c.python, "-c", c.agent_import] if c.agent_import else None)):
            if argv:
                jobs.append((c, what, argv, c.env(home)))
    rows = {}
    for k in range(o.n + 1):                          # round-robin, so that noise falls on all alike
        for c, what, argv, env in jobs:
            r = run(argv, env, 120, tag="%s-%s" % (c.name, what))
            if k:                                     # round 0 warms byte code and page cache
                rows.setdefault((c.name, what), []).append(r)
    for (who, what), rs in rows.items():
        three(b, who, what, summary(rs))
    for c in cs:
        if c.agent_import:
            code = c.agent_import + "\nimport sys; print(len(sys.modules))"
            r = run([c.python, "-c", code], c.env(home_of(c)), 120, tag=c.name + "-mods")
            last = tail(r["out"], 20).split()
            emit(b, c.name, "import.modules", int(last[-1]) if last and last[-1].isdigit() else None, "")


# 2 -------------------------------------------------------------------- one-shot
def oneshot(cs, mock, o):
    b = "oneshot"
    body = json.dumps({"model": "m", "stream": True, "tools": [1], "messages": [{"role": "user", "content": "hi"}]})
    table = {c.name: [] for c in cs}
    for k in range(o.n + 1):
        for c in cs:
            lane = "os-%s-%d" % (c.name, k)
            script = {"steps": with_final(c, []), "final": "bench-answer"}
            if k == 0:
                home, base = setup(c, mock, lane, **script)
            else:                                       # second and later turns: an established home
                home, base = home_of(c), mock.script(lane, **script)
                c.prepare(home, base)
            argv = c.oneshot(home, base, "Say the word. Run %d." % k)
            if not argv:
                continue
            r = run(argv, c.env(home), 120, tag=c.name + "-oneshot")
            s = mock.stats(lane)
            r["answered"] = "bench-answer" in tail(r["out"], 4000) or bool(getattr(c, "final_tool", None))
            if s["first_at"]:
                r["to_first"] = (s["first_at"] - r["t0"]) * 1e3
                r["after"] = (r["t1"] - s["last_at"]) * 1e3
            r["calls"], r["aux"], r["other"] = s["count"], s["aux"], sum(s["other"].values())
            if k == 0:
                emit(b, c.name, "first_ever.wall", r["wall_ms"], "ms", rc=r["rc"])
            else:
                table[c.name].append(r)
    for c in cs:
        rows = table[c.name]
        if not rows:
            continue
        ok = [r for r in rows if r["rc"] == 0 and r["answered"]]
        if not ok:
            fail(b, c.name, "rc %s: %s | %s" % (rows[-1]["rc"], tail(rows[-1]["err"]), tail(rows[-1]["out"], 200)))
            continue
        emit(b, c.name, "wall", med([r["wall_ms"] for r in ok]), "ms", min=min(r["wall_ms"] for r in ok), all=[r["wall_ms"] for r in ok])
        emit(b, c.name, "cpu", med([r["cpu_ms"] for r in ok]), "ms", min=min(r["cpu_ms"] for r in ok))
        emit(b, c.name, "rss", med([r["rss_mb"] for r in ok]), "MB")
        emit(b, c.name, "to_first_request", med([r["to_first"] for r in ok if "to_first" in r]), "ms")
        emit(b, c.name, "last_request_to_exit", med([r["after"] for r in ok if "after" in r]), "ms")
        emit(b, c.name, "requests", ok[-1]["calls"], "", aux=ok[-1]["aux"], other=ok[-1]["other"])
    # limit: one process which posts one request with the standard library
    base = mock.script("os-limit", final="bench-answer")
    code = ("import http.client;c=http.client.HTTPConnection('127.0.0.1',%d);c.request('POST','/l/os-limit/v1/chat/completions',%r);"
            "c.getresponse().read()" % (mock.port, body))
    r = repeat([PY, "-c", code], max(9, o.n), "limit-oneshot")
    for k, u in (("wall", "ms"), ("cpu", "ms"), ("rss", "MB")):
        emit(b, "limit", k, r[k], u, what="python + http.client, one request")


# 3 ------------------------------------------------------- a turn of 100 tool calls
def loop_steps(c, d, n):
    steps, kinds = [], []
    have = [k for k in ("read", "terminal", "patch") if c.tool(k, path="x", command="x", old="x", new="x")]
    for i in range(n):
        k = have[i % len(have)]
        if k == "read":
            t = c.tool("read", path=d + "/f%03d.txt" % i, offset=1, limit=50)
        elif k == "terminal":
            t = c.tool("terminal", command="echo step %d" % i)
        else:   # the file read just before: some runtimes refuse to edit what was not read
            t = c.tool("patch", path=d + "/f%03d.txt" % (i - i % len(have)), old="line 7 of", new="line seven of")
        steps.append({"tool": t[0], "args": t[1]})
        kinds.append(k)
    return steps, kinds


def loop_files(d, n):
    fresh(d)
    for i in range(n):
        with open(d + "/f%03d.txt" % i, "w") as f:
            f.write("".join("line %d of file %d: the quick brown fox\n" % (k, i) for k in range(20)))


def loop(cs, mock, o):
    b = "loop"
    n = o.calls
    d = os.path.join(WORK, "loop")
    acc = {c.name: {"per": {}, "walls": [], "cpus": [], "rss": [], "bad": None, "s": None, "kinds": []} for c in cs}
    for k in range(o.loop_n):
        for c in cs:
            A = acc[c.name]
            loop_files(d, n)
            steps, kinds = loop_steps(c, d, n)
            lane = "loop-%s-%d" % (c.name, k)
            home, base = setup(c, mock, lane, steps=with_final(c, steps), mode="count")
            argv = c.oneshot(home, base, "Do the bench steps.")
            if not argv:
                continue
            r = run(argv, c.env(home), 200, cwd=d, tag=c.name + "-loop")
            s = A["s"] = mock.stats(lane)
            if s["count"] < n:
                A["bad"] = "only %d of %d calls; rc %s timeout %s %s" % (s["count"], n, r["rc"], r["timeout"], tail(r["err"]))
            gaps = s["gaps_ms"]
            w = len(set(kinds))
            for g, kind in zip(gaps[w:], kinds[w:]):             # each tool's first call warms up
                A["per"].setdefault(kind, []).append(g)
            for g in gaps[:1]:
                A["per"].setdefault("first_call", []).append(g)
            if s["first_at"]:
                A["walls"].append((s["last_at"] - s["first_at"]) * 1e3)
            A["cpus"].append(r["cpu_ms"])
            A["rss"].append(r["rss_mb"])
    for c in cs:
        A = acc[c.name]
        per, walls, cpus, rss, s, bad = A["per"], A["walls"], A["cpus"], A["rss"], A["s"], A["bad"]
        if bad:
            fail(b, c.name, bad, count=s["count"])
        if not s or not s["gaps_ms"]:
            continue
        errs = sum("error" in t["head"].lower()[:60] and "null" not in t["head"][:200] for t in s["tool_results"])
        if not bad:
            emit(b, c.name, "turn.wall", med(walls), "ms", calls=n, min=round(min(walls)), all=[round(w) for w in walls])
            emit(b, c.name, "process.cpu", med(cpus), "ms", min=min(cpus))
            emit(b, c.name, "process.rss", med(rss), "MB")
        for kind, g in per.items():
            emit(b, c.name, "gap." + kind, med(g), "ms", min=min(g), p10=pct(g, .1), p95=pct(g, .95), n=len(g))
        emit(b, c.name, "request_bytes", s["bytes"], "B", requests=s["count"], first=s["sizes"][0], last=s["sizes"][-1])
        emit(b, c.name, "prefix_breaks", s["breaks"], "", of=s["count"] - 1, first=s["first_break"],
             tools_changed=s["tools_changed"], aux=s["aux"], aux_bytes=s["aux_bytes"], other=s["other"])
        emit(b, c.name, "cacheable", round(100 * s["cached_tokens"] / max(1, s["prompt_tokens"]), 1), "%")
        emit(b, c.name, "tool_errors", errs, "", sample=[t["head"] for t in s["tool_results"][:3]])
        # growth of the gap over the turn: a loop which is quadratic in its history shows here
        m = len(s["gaps_ms"]) // 4
        if m > 5:
            emit(b, c.name, "gap.last_quarter_over_first", round(med(s["gaps_ms"][-m:]) / max(.001, med(s["gaps_ms"][3:m + 3])), 2), "x")
    # limits, same machine, same minute
    xs = []
    for i in range(100):
        t = time.perf_counter()
        subprocess.run(["bash", "-c", "echo step"], capture_output=True)
        xs.append((time.perf_counter() - t) * 1e3)
    emit(b, "limit", "gap.terminal", med(xs), "ms", what="subprocess bash -c echo", p95=pct(xs, .95))
    loop_files(d, n)
    xs, ys = [], []
    for i in range(n):
        t = time.perf_counter()
        open(d + "/f%03d.txt" % i).read()
        xs.append((time.perf_counter() - t) * 1e3)
        t = time.perf_counter()
        p = d + "/f%03d.txt" % i
        s = open(p).read().replace("line 7 of", "line seven of", 1)
        open(p + "~", "w").write(s)
        os.replace(p + "~", p)
        ys.append((time.perf_counter() - t) * 1e3)
    emit(b, "limit", "gap.read", med(xs), "ms", what="open().read()")
    emit(b, "limit", "gap.patch", med(ys), "ms", what="read, replace, write, rename")
    # the wire: one keep-alive client which plays the same conversation with nothing in between
    import http.client
    base = mock.script("loop-limit", steps=[{"tool": "x", "args": {"a": "b"}}], repeat=n, mode="count")
    h = http.client.HTTPConnection("127.0.0.1", mock.port)
    msgs = [{"role": "system", "content": "s" * 6000}, {"role": "user", "content": "Do the bench steps."}]
    t0 = time.perf_counter()
    for i in range(n + 1):
        h.request("POST", "/l/loop-limit/v1/chat/completions", json.dumps({"model": "m", "messages": msgs, "tools": [{"t": "x" * 1000}]}))
        a = json.loads(h.getresponse().read())["choices"][0]["message"]
        msgs += [a, {"role": "tool", "tool_call_id": "x", "content": "x" * 400}]
    emit(b, "limit", "turn.wall", round((time.perf_counter() - t0) * 1e3, 1), "ms", what="http.client replay, no tools run, mock included")
    emit(b, "limit", "gap.first_call", med(mock.stats("loop-limit")["gaps_ms"]), "ms", what="http.client, between two requests")


# 5 ---------------------------------------------------------------- session store
WORDS = None


def corpus(path, n, seed=7):
    """n messages over n/200 sessions, Zipf words, some CJK, planted rare tokens and phrases."""
    if os.path.exists(path) and os.path.getsize(path) > n * 100:
        return
    rnd = random.Random(seed)
    cons, vows = "bcdfghklmnprstvz", "aeiou"
    words = ["".join(rnd.choice(cons) + rnd.choice(vows) for _ in range(rnd.randint(1, 4))) for _ in range(8000)]
    w = [1 / (k + 3) for k in range(len(words))]
    han = "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学法所民得经"
    with open(path, "w", encoding="utf-8") as f:
        for i in range(n):
            t = rnd.choices(words, w, k=rnd.randint(8, 90))
            if i % 10 == 3:
                t.append("deploy")                    # common: 10 %
            if i % 5000 == 1234:
                t.insert(3, "zyxquark%d" % (i // 5000))   # rare: 1 hit each
            if i % 1000 == 500:
                t.insert(2, "rolling back the canary")     # phrase
            if i % 20 == 7:
                t.append("".join(rnd.choice(han) for _ in range(30)))
            if i % 2000 == 906:
                t.append("数据库迁移计划")             # CJK, in an assistant message
            role = ("user", "assistant", "assistant", "tool")[i % 4]
            f.write(json.dumps({"s": "bench_%05d" % (i // 200), "role": role, "content": " ".join(t)}, ensure_ascii=False) + "\n")


QUERIES = {"common": ["deploy"], "rare": ["zyxquark%d" % k for k in range(1, 15)], "phrase": ['"rolling back the canary"'],
           "two_words": ["deploy zyxquark3"], "or": ["deploy OR canary"], "cjk": ["数据库迁移"], "cjk2": ["迁移"], "prefix": ["zyxq*"], "miss": ["nosuchtokenatall"]}


def han(text):
    return re.sub("([\u4e00-\u9fff])", r" \1 ", text)


def store(cs, mock, o):
    b = "store"
    path = os.path.join(WORK, "corpus2-%d.jsonl" % o.messages)
    corpus(path, o.messages)
    raw_bytes = os.path.getsize(path)
    q = os.path.join(WORK, "queries.json")
    with open(q, "w") as f:
        json.dump(QUERIES, f)
    # limit: raw sqlite with one FTS5 table over external content
    db = os.path.join(fresh(os.path.join(WORK, "store-limit")), "s.db")
    cx = sqlite3.connect(db, isolation_level=None)
    cx.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;"
                     "CREATE TABLE m(id INTEGER PRIMARY KEY, s TEXT, role TEXT, content TEXT, ts REAL);"
                     "CREATE INDEX ms ON m(s,id);"
                     "CREATE VIRTUAL TABLE f USING fts5(content, content='m', content_rowid='id');"
                     "CREATE TRIGGER ai AFTER INSERT ON m BEGIN INSERT INTO f(rowid,content) VALUES(new.id,new.content); END;")
    rows = [json.loads(x) for x in open(path, encoding="utf-8")]
    k = min(20000, len(rows))
    t = time.perf_counter()
    for r in rows[:k]:
        cx.execute("INSERT INTO m(s,role,content,ts) VALUES(?,?,?,?)", (r["s"], r["role"], r["content"], 0.0))
    one = (time.perf_counter() - t) / k
    emit(b, "limit", "insert.one", round(one * 1e3, 4), "ms", what="sqlite WAL+FTS5, one transaction a message")
    t = time.perf_counter()
    cx.execute("BEGIN")
    cx.executemany("INSERT INTO m(s,role,content,ts) VALUES(?,?,?,?)", ((r["s"], r["role"], r["content"], 0.0) for r in rows[k:]))
    cx.execute("COMMIT")
    emit(b, "limit", "insert.bulk", round((time.perf_counter() - t) / max(1, len(rows) - k) * 1e3, 4), "ms", what="one transaction for all")
    cx.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    emit(b, "limit", "db", round(os.path.getsize(db) / 1e6, 1), "MB", corpus_mb=round(raw_bytes / 1e6, 1))
    for name, qs in QUERIES.items():
        xs, hits = [], 0
        for r in range(20):
            x = qs[r % len(qs)]
            t = time.perf_counter()
            hits = len(cx.execute("SELECT m.id,m.s,snippet(f,0,'>','<','..',20) FROM f JOIN m ON m.id=f.rowid WHERE f MATCH ? ORDER BY rank LIMIT 20", (x,)).fetchall())
            xs.append((time.perf_counter() - t) * 1e3)
        emit(b, "limit", "query." + name, med(xs), "ms", p95=pct(xs, .95), hits=hits)
    # CJK: every Han character its own token, queries as phrases
    cx.execute("CREATE VIRTUAL TABLE h USING fts5(content, content='')")
    cx.execute("BEGIN")
    cx.executemany("INSERT INTO h(rowid,content) VALUES(?,?)", ((k + 1, han(r["content"])) for k, r in enumerate(rows)))
    cx.execute("COMMIT")
    for name in ("cjk", "cjk2"):
        x, xs, hits = '"%s"' % han(QUERIES[name][0]).strip(), [], 0
        for r in range(20):
            t = time.perf_counter()
            hits = len(cx.execute("SELECT m.id,m.s,m.content FROM h JOIN m ON m.id=h.rowid WHERE h MATCH ? ORDER BY rank LIMIT 20", (x,)).fetchall())
            xs.append((time.perf_counter() - t) * 1e3)
        emit(b, "limit", "query." + name, med(xs), "ms", p95=pct(xs, .95), hits=hits, what="FTS5, each Han character a token, phrase query")
    cx.close()
    rows = None
    for c in cs:
        s = c.store()
        if not s:
            continue
        home = fresh(home_of(c))
        c.prepare(home, "http://127.0.0.1:%d/l/store/v1" % mock.port)
        r = run([s[0], s[1], home, path, q, str(o.store_budget)], c.env(home), o.store_budget * 2 + 120, tag=c.name + "-store")
        n = 0
        for ln in open(r["out"], errors="replace"):
            if ln.startswith("{"):
                d = json.loads(ln)
                n += 1
                emit(b, c.name, d.pop("metric"), d.pop("value"), d.pop("unit"), **d)
        if r["rc"]:
            fail(b, c.name, "rc %s: %s" % (r["rc"], tail(r["err"])))
        emit(b, c.name, "process.rss", r["rss_mb"], "MB")


BENCHES = {"startup": startup, "oneshot": oneshot, "loop": loop, "files": files, "store": store, "terminal": terminal}
