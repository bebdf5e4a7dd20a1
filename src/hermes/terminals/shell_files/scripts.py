"""The scripts that look at files: POSIX shell, and commands that GNU, busybox and BSD all have.

Variables are set in front of each (`channel.settings`). An answer begins with a line of its own,
`F code reason` for a fault; what went wrong is found out by looking, not from words of commands.
"""

from typing import Final

PRELUDE: Final = r"""LC_ALL=C; export LC_ALL
unset CDPATH; cd / || exit 1
fault() { printf 'F %s %s\n' "$1" "$2"; exit 0; }
# One line: mode in hex, size, links, device, inode, mtime, ctime, and both again with fractions.
st() {
  stat $2 -c '%f %s %h %d %i %Y %Z %y|%z' "$1" 2>/dev/null ||
    stat $2 -f '%Xp %z %l %d %i %m %c %Fm|%Fc' "$1" 2>/dev/null
}
there() { [ -e "$1" ] || [ -L "$1" ]; }
# A machine that cannot look must not say that nothing is there.
sighted() { st / >/dev/null || fault other 'there is no stat there'; }
# Why there is nothing at a path: looks at the deepest folder above that is there.
why() {
  sighted
  if [ -L "$1" ] && [ ! -e "$1" ]; then fault missing 'is a link to nothing'; fi
  w=$1
  until [ -z "$w" ] || there "$w"; do w=${w%/*}; done
  [ -d "$w/" ] || { [ -e "$w" ] && fault not_a_folder; fault missing; }
  [ -x "$w/" ] || fault denied
  fault missing
}
regular() {
  if [ -f "$1" ]; then [ -r "$1" ] && return; fault denied; fi
  [ -e "$1" ] || why "$1"
  [ -d "$1" ] && fault not_a_file 'is a folder, not a file'
  [ -p "$1" ] && fault not_a_file 'is a named pipe, not a file'
  [ -S "$1" ] && fault not_a_file 'is a socket, not a file'
  fault not_a_file 'is a device, not a file'
}
folder() {
  [ -d "$1" ] || { [ -e "$1" ] && fault not_a_folder; why "$1"; }
  [ -r "$1" ] && [ -x "$1" ] || fault denied
}
if command -v sha256sum >/dev/null 2>&1; then sha() { s=$(sha256sum) && printf '%s' "${s%% *}"; }
elif command -v shasum >/dev/null 2>&1; then sha() { s=$(shasum -a 256) && printf '%s' "${s%% *}"; }
elif command -v openssl >/dev/null 2>&1; then
  sha() { s=$(openssl dgst -sha256 -r) && printf '%s' "${s%% *}"; }
else sha() { return 1; }; fi
"""

HOME: Final = r"""printf 'H\n%s' "$HOME" """

STAT: Final = r"""tidy
if s=$(st "$p"); then printf 'S %s %s\n' "$(date +%s)" "$s"; exit; fi
w=$p
until [ -z "$w" ] || there "$w"; do w=${w%/*}; done
[ ! -d "$w/" ] || [ -x "$w/" ] || fault denied
sighted
printf 'N\n'
"""

LOCATE: Final = r"""tidy
if [ -n "$user" ]; then
  eval "h=~$user"
  case $h in /*) rest=$h$rest ;; *) rest=$cwd/~$user$rest ;; esac
fi
r= hops=0
while [ -n "$rest" ]; do
  c=${rest%%/*}
  case $rest in */*) rest=${rest#*/} ;; *) rest= ;; esac
  case $c in '' | .) continue ;; ..) r=${r%/*}; continue ;; esac
  if [ -L "$r/$c" ] && { [ -z "$entry" ] || [ -n "$rest" ]; }; then
    hops=$((hops + 1))
    [ "$hops" -le 40 ] || fault bad_path
    t=$(readlink -n "$r/$c" && printf x) || fault denied
    t=${t%x}
    case $t in /*) r= ;; esac
    rest=$t${rest:+/$rest}
  else
    r=$r/$c
  fi
done
printf 'L\n%s' "${r:-/}"
"""

READ: Final = r"""tidy
regular "$p"
s=$(st "$p" -L) || why "$p"
set -- $s
[ "$2" -le "$limit" ] || fault too_large "has $2 bytes"
printf 'S %s %s\n' "$(date +%s)" "$s"
# No more than shows that it has grown: a log may grow faster than it is read.
most=$limit
[ "$2" -eq 0 ] || most=$2
head -c $((most + 1)) <"$p"
printf '\n%s %s\n' "$?" "$(st "$p" -L)"
"""

PAGE: Final = r"""tidy
regular "$p"
s=$(st "$p" -L) || why "$p"
set -- $s
z=$2 whole=$sniff
h=-
if [ "$z" -gt "$sniff" ] && [ "$z" -le "$digest" ]; then
  h=$(head -c "$z" <"$p" | sha) || { h=-; whole=$digest; }
fi
now=$(date +%s)
# A small file, or one that does not say how large it is, is cut into lines over there.
if [ "$z" -le "$whole" ]; then
  printf 'W %s %s\n' "$now" "$s"
  head -c $((pseudo + 1)) <"$p"
  printf '\n%s %s\n' "$?" "$(st "$p" -L)"
  exit
fi
n=$(head -c "$z" <"$p" | wc -l)
e=$(tail -c +"$z" <"$p" | head -c 1 | wc -l)
total=$((n + 1 - e))
printf 'P %s %s\n%s %s %s\n' "$now" "$s" "$total" $((e)) "$h"
head -c "$sniff" <"$p"
last=$((first + lines - 1))
if [ "$lines" -gt 0 ] && [ "$first" -le "$total" ]; then
  # What is too wide is cut here, unless this `cut` stumbles over NUL, as that of busybox does.
  if [ "$(printf 'a\000b\n' | cut -b 1-3 | tr '\000' n)" = anb ]; then
    head -c "$z" <"$p" | tail -n +"$first" | head -n "$lines" | cut -b 1-"$width"
  else
    head -c "$z" <"$p" | tail -n +"$first" | head -n "$lines"
    [ "$e" -eq 1 ] || [ "$last" -lt "$total" ] || printf '\n'
  fi
fi
printf '%s\n' "$(st "$p" -L)"
"""

LINK: Final = r"""tidy
[ -L "$p" ] || { [ -e "$p" ] && fault bad_path 'is no link'; why "$p"; }
printf 'L\n'
readlink -n "$p"
"""

NAMES: Final = r"""tidy
folder "$p"
cd -P "$p" || fault denied
printf 'N\n'
for f in * .[!.]* ..?*; do
  case $f in '*' | '.[!.]*' | '..?*') there "$f" || continue ;; esac
  printf '%s\000' "$f"
done
printf '\000'
"""

TREE: Final = r"""tidy
folder "$p"
printf 'T\n'
o=-c f="$mark %f %s %Y %y|%n"
stat -c %s / >/dev/null 2>&1 || { o=-f f="$mark %Xp %z %m %Fm|%N"; }
export mark
find "$p" ${folders:+-type d} -exec stat "$o" "$f" {} + -type d -exec sh -c 'for d do
  [ -r "$d" ] && [ -x "$d" ] || printf "%s D|%s\n" "$mark" "$d"
done' sh {} + 2>/dev/null
printf '%s E|\n%s' "$mark" "$mark"
"""

RIPGREP: Final = r"""tidy
command -v rg >/dev/null 2>&1 || { printf 'N\n'; exit; }
printf 'Y\n'
eval "set -- $(cat)"
exec rg "$@" </dev/null
"""
