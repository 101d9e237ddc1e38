# ── what all four hooks share ──

nl='
'
replay='' input='' gone=''
say() { printf 'draftfs: %s\n' "$1" >&2; }

# `draftfs hooks status` asks git itself, with this set, whether this file is what runs. The status is never 0: a variable
# left in an environment must not open the gate.
if [ -n "${DRAFTFS_SELFTEST-}" ]; then
  say "selftest $hook"
  exit 1
fi

case $0 in */*) folder=${0%/*} ;; *) folder=. ;; esac

# The hook that was here before ours, if git would run it. (-x alone is true of a folder, too.)
foreign=
if [ -n "$kept" ] && [ -f "$folder/$kept" ] && [ -x "$folder/$kept" ]; then
  # It runs already when it is what called us.
  case " ${DRAFTFS_CHAIN-} " in *" $kept "*) ;; *) foreign=$folder/$kept ;; esac
fi
# A hook manager that was installed again over ours runs us as NAME.legacy. If it is also what we keep, running that would
# come round to us.
if [ -n "$foreign" ] && [ "${0##*/}" != "$hook" ]; then
  if cmp -s "$foreign" "$folder/$hook"; then foreign=; fi
  if [ -n "$foreign" ] && [ -n "${PRE_COMMIT_RUNNING_LEGACY-}${PREK_RUNNING_LEGACY-}" ]; then
    if grep -q hook-impl "$foreign" 2>/dev/null; then foreign=; fi
  fi
fi

# Nothing of ours is against it: end, as the foreign hook ends where there is one. "$@" are the hook's arguments. Standard
# input is untouched, or was read whole into $input where $replay is set.
pass() {
  [ -n "$foreign" ] || exit 0
  export DRAFTFS_CHAIN="${DRAFTFS_CHAIN-} $kept"
  first=
  read -r first <"$foreign"
  case $first in
  '#!/bin/sh' | '#!/usr/bin/env sh')
    # Many a script asks $0 what hook it is; by its path alone it would now be called something else, and do nothing.
    # (A bash script may ask whether BASH_SOURCE is $0, so this is for sh only.)
    set -- sh -c 'draftfs_kept=$1; shift; . "$draftfs_kept"' "$0" "$foreign" "$@"
    ;;
  *) set -- "$foreign" "$@" ;;
  esac
  [ -n "$replay" ] || exec "$@"
  printf '%s' "$input" 2>/dev/null | exec "$@"
  exit $?
}

# Sets gd and common, the absolute git folders of this worktree and of the repository. In a linked worktree and while
# receiving, git says where it is; else it starts hooks at the top of the checkout. So a process is needed only where .git
# is a file.
locate() {
  gd=${GIT_DIR:-.git}
  case $gd in /*) ;; .) gd=$PWD ;; *) gd=$PWD/$gd ;; esac
  common=$gd linked=
  if [ -f "$gd/commondir" ]; then
    read -r linked <"$gd/commondir"
    common=${gd%/*/*}
  fi
  if [ ! -f "$gd/HEAD" ] || [ "${linked:-../..}" != ../.. ] || [ -n "${GIT_COMMON_DIR-}" ]; then
    gd=$(git rev-parse --absolute-git-dir) && common=$(git rev-parse --path-format=absolute --git-common-dir) || exit 1
  fi
}

# Sets store, if this repository has one; and gone, where it is named but not there: a fault, once there is a question.
has_store() {
  store=$common/draftfs
  [ -f "$store/store.yaml" ] && return 0
  store=$(git config --get draftfs.store) || return 1
  case $store in /*) ;; *) store=$common/$store ;; esac
  [ -f "$store/store.yaml" ] || gone=yes
}

# Let the program judge; returns only if it allows. Its standard input is the caller's, "$@" the hook's arguments.
judge() {
  if [ -n "$gone" ]; then
    fault "the store $store is gone"
    return
  fi
  if [ ! -x "$python" ]; then
    fault "$python is gone"
    return
  fi
  status=0
  "$python" -I -S -c "$boot" "$hook" "$gd" "$common" "$@" >&2 || status=$?
  case $status in
  0) ;;
  1) exit 1 ;;
  7) fault "the store is busy" "Run the same command again" ;;
  9) fault "draftfs, or a package it needs, is gone from where it was" ;;
  *)
    if [ "$status" -gt 128 ]; then
      fault "its program was killed" "Run the same command again; if that does not help: draftfs hooks install"
    else
      fault "its program failed with status $status"
    fi
    ;;
  esac
}

# Something is broken, so nobody can say whether this is allowed. Refused where an agent works or worked, and where a push
# is received, behind which there is no other gate; else a broken installation would keep people from their own checkout.
# A person gets past it once, and it is noted if it can be.
fault() {
  mend=${2-Mend it with: draftfs hooks install}
  if [ -n "${DRAFTFS_BYPASS-}" ] && [ -z "${DRAFTFS_AGENT+set}" ]; then
    say "NOT CHECKED by $hook: $1. Passed all the same, because DRAFTFS_BYPASS says: $DRAFTFS_BYPASS"
    "$python" -I -S -c "$boot" bypassed "$gd" "$common" "$hook" "$DRAFTFS_BYPASS" </dev/null >/dev/null 2>&1
    return 0
  fi
  if [ -f "$gd/draftfs-worktree/held.json" ] || [ "$hook" = pre-receive ]; then
    say "refused, for $hook cannot check it: $1. $mend (a person gets past it once with DRAFTFS_BYPASS=REASON)"
    exit 1
  fi
  say "warning: not checked by $hook: $1. $mend"
}

# For hooks whose whole standard input is the question.
judge_input() {
  locate
  has_store || pass "$@"
  if [ -n "$foreign" ]; then
    input=$(cat && echo .) input=${input%.} replay=yes
    judge "$@" <<EOF
${input%"$nl"}
EOF
  else
    judge "$@"
  fi
  pass "$@"
}
