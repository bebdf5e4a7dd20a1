"""The shell's side of commits that were cut off: one lock on each machine, one folder for each.

`records` is a folder there, of this user alone. `lock` in it is a link whose target names its
owner (token of a Hermes, pid, start of that process, boot), made and read in one step each. Whoever
holds it owns every `t.*`, the folder of one commit:

- `plan`: functions and changes as a script of its own (`RECORD` and `commit.Plan`), there from
  before the first change until nothing is left to do;
- `done`: all changes are made, and only names have to be tidied up; without it all are undone;
- `in`: all that was sent; `f1`: folder 1 of the plan is to be made;
- for change 1 `s1`: what stood there before; `i1`: device and inode of what is new; `b1`: the old
  content of a file that is written in place; `g1`: the change has begun.
"""

from typing import Final

LOCK: Final = r"""
start_of() {
  { read -r l </proc/"$1"/stat; } 2>/dev/null || { start=; return; }
  l=${l##*) }
  set -- $l
  case $1 in Z | X) start=ended ;; *) start=${20} ;; esac
}
boot=
{ read -r boot </proc/sys/kernel/random/boot_id; } 2>/dev/null
start_of $$
me=$token.$$.$start.$boot
# Whether the owner of a lock still runs.
lives() {
  o=${1#*.}; pid=${o%%.*}
  kill -0 "$pid" 2>/dev/null || return 1
  start_of "$pid"
  [ "$o" = "$pid.$start.$boot" ]
}
lock() {
  turns=0
  until ln -s "$me" "$records/lock" 2>/dev/null; do
    turns=$((turns + 1))
    [ "$turns" -le 200 ] || fault other "another commit holds $records/lock"
    owner=$(readlink "$records/lock") || { sleep 0.01 2>/dev/null; continue; }
    if lives "$owner"; then sleep 0.05 2>/dev/null || sleep 1; continue; fi
    mv "$records/lock" "$records/dead.$$" 2>/dev/null || continue
    taken=$(readlink "$records/dead.$$")
    rm -f "$records/dead.$$"
    # It was a living one's, who took it in between: given back.
    [ "$taken" = "$owner" ] || ln -s "$taken" "$records/lock" 2>/dev/null
  done
}
# A plan is a script: whoever can leave one there could have it run.
trusted() {
  m=$(st "$records") && [ -O "$records" ] && [ $((0x${m%% *} & 18)) -eq 0 ] && return
  fault denied "$records is not a folder of this user alone"
}
unlock() { rm -f "$records/lock"; }
forget() { rm -f "$1/plan" && rm -rf "$1"; }
recover() {
  for txn in "$records"/t.*; do
    [ -d "$txn" ] || continue
    if [ -f "$txn/plan" ]; then ( . "$txn/plan"; settle ) >/dev/null 2>&1 || return 1; fi
    forget "$txn"
  done
}
settle_all() {
  trusted
  lock
  recover || { unlock; fault other "a commit that was cut off cannot be undone: $records"; }
  unlock
}
# Before any use. A commit of this very Hermes that is under way is no leftover; another's is
# waited for once it has begun.
tidy() {
  set -- "$records"/t.*
  [ -e "$1" ] || [ -L "$records/lock" ] || return 0
  if owner=$(readlink "$records/lock") && lives "$owner"; then
    case $owner in "$token".*) return 0 ;; esac
    [ -e "$1" ] || return 0
  fi
  settle_all
}
"""

RECORD: Final = r"""
change() {
  n=$1 kind=$2 to=$3 new=$4 old=$5 above=$6 want=$7 hash=$8 offset=$9
  shift 9
  size=$1 other=$2
}
ino() { stat -c %d:%i "$1" 2>/dev/null || stat -f %d:%i "$1" 2>/dev/null; }
was() { [ -f "$txn/s$n" ] && read -r _ _ _ d i _ <"$txn/s$n" && printf '%s' "$d:$i"; }
made() { [ -f "$txn/i$n" ] && cat "$txn/i$n"; }
is() { [ -n "$2" ] && [ "$(ino "$1")" = "$2" ]; }
free() { [ ! -e "$1" ] && [ ! -L "$1" ]; }
data() { tail -c +$((offset + 1)) <"$txn/in" | head -c "$1"; }
# Puts `old` back where it was, unless somebody has put something else there since.
put_back() {
  free "$old" && return 0
  if is "$1" "$(was)"; then rm -f "$old"; return; fi
  if free "$1" || is "$1" "$(made)"; then mv -f "$old" "$1"; fi
}
# A file that was written in place: it holds the beginning of the new content, or somebody else's.
write_back() {
  [ -e "$txn/g$n" ] && [ -f "$to" ] || return 0
  s=$(wc -c <"$to") || return 1
  if cmp -s "$txn/b$n" "$to"; then return 0; fi
  if [ "$s" -le "$size" ] && data "$s" | cmp -s - "$to"; then cat "$txn/b$n" >"$to"
  else cp -p "$txn/b$n" "$old"; fi
}
undo() {
  change "$@"
  case $kind in
    write)
      if [ -f "$txn/b$n" ]; then write_back
      elif [ "$want" != - ]; then put_back "$to"
      elif [ -e "$txn/g$n" ] && is "$to" "$(made)"; then rm -f "$to"; fi ;;
    remove) put_back "$to" ;;
    move)
      if [ -f "$txn/i$n" ]; then
        put_back "$other" || return 1
        [ ! -e "$txn/g$n" ] || ! is "$to" "$(made)" || rm -f "$to"
      elif free "$other" && is "$to" "$(was)"; then mv "$to" "$other"; fi ;;
  esac || return 1
  rm -f "$new"
}
tidy_up() { change "$@"; rm -f "$new" "$old"; }
unmake() { [ ! -e "$txn/f$1" ] || rmdir "$2" 2>/dev/null || :; }
settle() {
  if [ -e "$txn/done" ]; then each tidy_up; else each undo && folders_back unmake; fi
}
"""

COMMIT: Final = r"""
lost='did not keep what was written to it'
# Ends a commit that cannot be: what was done is put back. $2 is the change it is about, or a path.
abort() {
  if [ -e "$txn/plan" ] && ! settle; then
    unlock
    fault other "$2 could not be put back; that is tried again at the next use ($3)"
  fi
  forget "$txn"
  unlock
  fault "$1" "$2 $3"
}
# The same for what a command has said, which is in $e.
failed() {
  case $e in
    *'No space left'* | *'uota exceeded'* | *'File too large'*) abort full "$1" ;;
    *'ermission denied'* | *'not permitted'* | *'Read-only file system'*) abort denied "$1" ;;
  esac
  abort other "$1" "$e"
}
holds() {
  [ -r "$1" ] || abort denied "$n"
  h=$(sha <"$1") && [ "$h" = "$want" ] || abort changed "$n"
}
reachable() {
  d=$1
  until [ -z "$d" ] || there "$d"; do d=${d%/*}; done
  [ -d "$d/" ] || abort not_a_folder "$n"
  [ -w "$d/" ] && [ -x "$d/" ] || abort denied "$n"
}
kind_of() {
  [ -f "$1" ] || [ -L "$1" ] && return
  [ -e "$1" ] && abort not_a_file "$n"
  abort missing "$n"
}
check() {
  change "$@"
  at=$to
  case $kind in
    write)
      if there "$to"; then
        [ -f "$to" ] && [ ! -L "$to" ] || abort not_a_file "$n"
        [ "$want" != - ] || abort exists "$n"
        holds "$to"
        [ -w "$to" ] || abort denied "$n"
      else
        [ "$want" = - ] || abort changed "$n" 'is not there any more'
        reachable "$above"
        [ -z "$other" ] || [ -f "$other" ] || abort missing "$n" "$other is missing"
      fi ;;
    remove)
      kind_of "$to"
      [ -L "$to" ] || holds "$to"
      [ -w "$above/" ] || abort denied "$n" ;;
    move)
      at=$other
      kind_of "$other"
      [ -w "${other%/*}/" ] || abort denied "$n"
      there "$to" && abort exists "$n"
      reachable "$above" ;;
  esac
  st "$at" >"$txn/s$n" || :
}
mark() { [ -d "$2/" ] || true >"$txn/f$1" || abort full r; }
make() {
  [ -e "$txn/f$1" ] || return 0
  if e=$(mkdir "$2" 2>&1); then folders="$folders $1"
  elif [ -d "$2/" ]; then rm -f "$txn/f$1"
  else failed "f$1"; fi
}
# A file at `new` with mode, owner, attributes of $1; busybox knows no attributes.
like() {
  cp -p --attributes-only --preserve=all "$1" "$new" 2>/dev/null && return
  rm -f "$new"
  e=$(cp -p "$1" "$new" 2>&1)
}
owner() { stat -c '%a %u %g' "$1" 2>/dev/null || stat -f '%Lp %u %g' "$1"; }
# What writes is `cat`: the head of busybox has no words of its own for a full disk.
fill() {
  [ -w "$new" ] || chmod u+w "$new"
  e=$({ data "$size" | cat >"$new"; } 2>&1) || failed "$n"
  h=$(sha <"$new") && [ "$h" = "$hash" ] || abort other "$n" "$lost"
  [ -z "$1" ] || chmod "$1" "$new"
  sync "$new" 2>/dev/null
  ino "$new" >"$txn/i$n" || abort other "$n" 'went away'
}
keep_old() {
  e=$( (umask 077; cat "$to" >"$txn/keep") 2>&1) || failed "$n"
  sync "$txn/keep" 2>/dev/null
  mv "$txn/keep" "$txn/b$n"
}
stage() {
  change "$@"
  e=
  case $kind in
    write)
      if [ "$want" = - ] && [ -z "$other" ]; then
        e=$( (set -C; : >"$new") 2>&1) || failed "$n"
        fill
        return
      fi
      if [ "$want" = - ]; then
        like "$other" || failed "$n"
        m=$(owner "$other")
        fill "${m%% *}"
        return
      fi
      read -r _ _ links _ <"$txn/s$n"
      # Other names, an owner that cannot be given, a folder that takes no new file: in place.
      if [ "$links" -eq 1 ] && [ -w "$above/" ] && [ -x "$above/" ] && like "$to"; then
        m=$(owner "$to")
        if [ "$(owner "$new")" = "$m" ]; then fill "${m%% *}"; return; fi
      fi
      rm -f "$new"
      case $e in *'No space left'* | *'uota exceeded'*) failed "$n" ;; esac
      keep_old ;;
    move)
      read -r _ _ _ d _ <"$txn/s$n"
      case $(ino "$above/") in "$d":*) return ;; esac
      cp -P -p --preserve=all "$other" "$new" 2>/dev/null ||
        { rm -f "$new"; e=$(cp -P -p "$other" "$new" 2>&1); } || failed "$n"
      [ -L "$new" ] || cmp -s "$other" "$new" || abort other "$n" "$lost"
      sync "$new" 2>/dev/null
      ino "$new" >"$txn/i$n" ;;
  esac
}
same() {
  change "$@"
  at=$to
  [ "$kind" != move ] || { at=$other; free "$to" || abort exists "$n"; }
  [ "$(st "$at")" = "$(cat "$txn/s$n")" ] || abort changed "$n"
}
in_place() {
  e=$({ data "$size" | cat >"$to"; } 2>&1) || failed "$n"
  h=$(sha <"$to") && [ "$h" = "$hash" ] || abort other "$n" "$lost"
  sync "$to" 2>/dev/null
}
replace() {
  ln "$to" "$old" 2>/dev/null || e=$(cp -p "$to" "$old" 2>&1) || failed "$n"
  e=$(mv -f "$new" "$to" 2>&1) && return
  # A mount point, or another's file in a sticky folder: its name cannot be given away.
  rm -f "$old" "$new"
  keep_old
  in_place
}
switch() {
  change "$@"
  true >"$txn/g$n" || abort full r
  case $kind in
    write)
      if [ -f "$txn/b$n" ]; then in_place
      elif [ "$want" != - ]; then replace
      elif e=$(ln "$new" "$to" 2>&1); then rm -f "$new"
      else free "$to" || abort exists "$n"; e=$(mv "$new" "$to" 2>&1) || failed "$n"; fi ;;
    remove) e=$(mv "$to" "$old" 2>&1) || failed "$n" ;;
    move)
      free "$to" || abort exists "$n"
      if [ -f "$txn/i$n" ]; then
        e=$(mv "$new" "$to" 2>&1) || failed "$n"
        e=$(mv "$other" "$old" 2>&1) || failed "$n"
      else e=$(mv "$other" "$to" 2>&1) || failed "$n"; fi ;;
  esac
  [ -z "$above" ] || sync "$above" 2>/dev/null
}
main() {
  sha </dev/null >/dev/null || fault other 'there is no sha256sum, shasum or openssl there'
  e=$( (umask 077; mkdir -p "$records") 2>&1) || fault denied "$e"
  trusted
  [ -w "$records" ] || fault denied "$records is read-only"
  lock
  recover || { unlock; fault other "a commit that was cut off cannot be undone: $records"; }
  txn=$records/t.$id
  e=$( (umask 077; mkdir "$txn") 2>&1) || failed r
  e=$( (umask 077; cat >"$txn/in") 2>&1) || failed r
  [ "$(wc -c <"$txn/in")" -eq "$total" ] || abort unreachable r 'not all of it arrived'
  e=$({ head -c "$script" <"$txn/in" >"$txn/draft"; } 2>&1) || failed r
  . "$txn/draft"
  each check
  folders_each mark
  sync "$txn/draft" "$txn/in" 2>/dev/null
  e=$(mv "$txn/draft" "$txn/plan" 2>&1) || failed r
  folders=
  folders_each make
  each stage
  each same
  sync "$txn" 2>/dev/null
  each switch
  true >"$txn/done" || abort full r
  sync "$txn/done" 2>/dev/null
  settle && forget "$txn"
  unlock
  printf 'C%s\n' "$folders"
}
main
"""
