"""The programs that run another which stands plainly in their arguments, and where it stands."""

from typing import Final

from msgspec import Struct


class Wrapper(Struct, frozen=True):
    """How to find the command of a wrapper.

    `valued` are its options that take a value (letters and long names), `skip` the arguments in
    front of the command, `verbs` what has to stand first, `text` says that the rest is a shell's
    text, `code` is an option with such a text.
    """

    valued: str = ""
    skip: int = 0
    verbs: tuple[str, ...] = ()
    text: bool = False
    code: tuple[str, ...] = ()
    needs_dashes: bool = False


# fmt: off
PLAIN: Final = {
    "builtin": Wrapper(), "exec": Wrapper("a"), "nohup": Wrapper(), "setsid": Wrapper(),
    "nice": Wrapper("n --adjustment"), "ionice": Wrapper("c n p P u --class --classdata"),
    "chrt": Wrapper("T P D p", 1), "taskset": Wrapper("", 1), "stdbuf": Wrapper("i o e"),
    "timeout": Wrapper("k s --kill-after --signal", 1), "gtimeout": Wrapper("k s", 1),
    "time": Wrapper("f o --format --output"), "gtime": Wrapper("f o"),
    "env": Wrapper("u C --unset --chdir", code=("-S", "--split-string")),
    "sudo": Wrapper("u g h p C T R D r t U --user --group --prompt --chdir --chroot --host"),
    "doas": Wrapper("u C"), "pkexec": Wrapper("--user"), "run0": Wrapper("u g --user --group"),
    "gosu": Wrapper("", 1), "su-exec": Wrapper("", 1), "setpriv": Wrapper("--reuid --regid"),
    "chroot": Wrapper("--userspec --groups", 1), "proot": Wrapper("r b w q"),
    "unshare": Wrapper("S G R w --root --wd --setuid --setgid --propagation"),
    "nsenter": Wrapper("t S G N --target --setuid --setgid"),
    "flock": Wrapper("w E --timeout --wait", 1, code=("-c", "--command")),
    "busybox": Wrapper(), "toybox": Wrapper(), "strace": Wrapper("o e p s u E a S P O I"),
    "ltrace": Wrapper("o e p s u a n"), "fakeroot": Wrapper("l s i"), "firejail": Wrapper(),
    "systemd-run": Wrapper("p u M E --unit --property --uid --gid --setenv --working-directory"),
    "systemd-inhibit": Wrapper("--what --who --why --mode"), "xvfb-run": Wrapper("e f n p s w"),
    "dbus-run-session": Wrapper(), "eatmydata": Wrapper(), "torsocks": Wrapper(),
    "torify": Wrapper(), "proxychains": Wrapper("f"), "proxychains4": Wrapper("f"),
    "rlwrap": Wrapper("f H p"), "unbuffer": Wrapper(), "caffeinate": Wrapper("t w"),
    "setarch": Wrapper("", 1), "linux32": Wrapper(), "linux64": Wrapper(), "arch": Wrapper("e d"),
    "cgexec": Wrapper("g"), "numactl": Wrapper("N m C i p"), "prlimit": Wrapper("p o"),
    "chronic": Wrapper(), "sshpass": Wrapper("p f d P"), "dumb-init": Wrapper(),
    "tini": Wrapper("p"), "catchsegv": Wrapper(), "entr": Wrapper(), "cpulimit": Wrapper("l p e"),
    "start-stop-daemon": Wrapper("u c d n p --chuid --pidfile --name"),
    "watchexec": Wrapper("w e i s d f --watch --exts --ignore"), "valgrind": Wrapper(),
    "perf": Wrapper("e o p F g", verbs=("stat", "record", "trace")),
    "uv": Wrapper("p --python --with --extra --group --directory --project --env-file",
                  verbs=("run",)),
    "poetry": Wrapper(verbs=("run",)), "pipenv": Wrapper(verbs=("run",)),
    "pdm": Wrapper(verbs=("run",)), "rye": Wrapper(verbs=("run",)),
    "hatch": Wrapper(verbs=("run",)), "bundle": Wrapper(verbs=("exec",)),
    "conda": Wrapper("n p --name --prefix --cwd", verbs=("run",)),
    "mamba": Wrapper("n p", verbs=("run",)), "direnv": Wrapper("", 1, verbs=("exec",)),
    "mise": Wrapper(verbs=("exec", "x")), "asdf": Wrapper(verbs=("exec",)),
    "op": Wrapper("--env-file", verbs=("run",)), "doppler": Wrapper("p c", verbs=("run",)),
    "npx": Wrapper("p --package", code=("-c", "--call")), "bunx": Wrapper(),
    "pnpx": Wrapper(), "cross-env": Wrapper(), "dotenv": Wrapper("f e", verbs=("run",)),
    "npm": Wrapper("p --package", verbs=("exec", "x"), code=("-c", "--call")),
    "pnpm": Wrapper("C F --dir --filter", verbs=("exec", "dlx")),
    "yarn": Wrapper(verbs=("exec", "dlx")), "winpty": Wrapper(), "wsl": Wrapper("d u"),
    "ssh": Wrapper("b c D e E F i I J L l m o O p Q R S W w", 1, text=True),
    "mosh": Wrapper("p", 1), "autossh": Wrapper("M b c D e E F i l L o p R S", 1, text=True),
    "slogin": Wrapper("l p i o", 1, text=True), "rsh": Wrapper("l", 1, text=True),
    "watch": Wrapper("n q --interval", text=True),
    "adb": Wrapper("s t", verbs=("shell",), text=True),
    "kubectl": Wrapper("n c --namespace --container --context", 1, ("exec",), needs_dashes=True),
    "oc": Wrapper("n c", 1, ("exec",), needs_dashes=True),
    "lxc": Wrapper("", 1, ("exec",)), "incus": Wrapper("", 1, ("exec",)),
    "vagrant": Wrapper("", 9, verbs=("ssh",), code=("-c", "--command")),
    "nix-shell": Wrapper("p A I", 99, code=("--run", "--command")),
    "sg": Wrapper("", 1, text=True), "hyperfine": Wrapper("w m M r p c", text=True),
    "script": Wrapper("E I O B T o --timing", 99, code=("-c", "--command")),
    "nodemon": Wrapper("w e i", 99, code=("-x", "--exec")),
}
CONTAINERS: Final = frozenset(("docker", "podman", "nerdctl"))
CONTAINER_VALUED: Final = (
    "a c e h l m p u v w --name --network --net --env --env-file --volume --mount --workdir --user"
    " --publish --entrypoint --platform --label --hostname --memory --cpus --gpus --add-host --dns"
    " --cap-add --cap-drop --device --restart --shm-size --tmpfs --ulimit --pull --security-opt"
    " --ipc --pid --runtime --log-driver --index --detach-keys --link --expose --cgroupns"
)
# fmt: on
