# ── reference-transaction: the local gate; no process before a line matters ──

[ "$1" = prepared ] || pass "$@"

many=8

# Sets moves to the lines that move a branch, or a detached HEAD, to a commit, and count to their number, or to one more than
# $many where there are more: a string that grows line by line takes quadratic time.
filter() {
  moves='' count=0 gd=''
  [ -z "$line" ] || consider "$@"
  while [ $count -le $many ] && read -r old new ref; do
    if matters; then consider "$@"; fi
  done
  [ $count -gt $many ] || return 0
  wanted='(refs/heads/|(main-worktree|worktrees/.*)/HEAD$)'
  head_is_on_its_way || wanted='(refs/heads/|((main-worktree|worktrees/.*)/)?HEAD$)'
  rest=$(LC_ALL=C grep -aE "^[^ ]+ 0*[1-9a-f][0-9a-f]* $wanted")
  moves=$moves${rest:+$rest$nl}
}

consider() {
  if [ -z "$gd" ]; then
    locate
    has_store || pass "$@"
  fi
  if [ "$ref" = HEAD ] && head_is_on_its_way; then return; fi
  moves=$moves$old' '$new' '$ref$nl
  count=$((count + 1))
}

# Whether a line about HEAD says nothing: on a branch, that branch has a line of its own; in a rebase HEAD ends on one.
head_is_on_its_way() { on_branch || [ -d "$gd/rebase-merge" ] || [ -d "$gd/rebase-apply" ]; }

# Whether HEAD names a branch. Of a detached HEAD the reftable format says .invalid in the file, too.
on_branch() {
  head=
  read -r head <"$gd/HEAD"
  case $head in
  'ref: refs/heads/.invalid') case $(git symbolic-ref -q HEAD) in refs/heads/*) return 0 ;; esac ;;
  'ref: refs/heads/'*) return 0 ;;
  esac
  return 1
}

# Reduces moves to those that bring commits which neither that ref nor people's checkout has, and those by which an agent
# moves people's own branch, be it back. (Without an index there is no checkout at the common folder: the HEAD of a bare
# repository is nobody's.)
keep_new() {
  people='' theirs='' kept_moves=''
  if [ -f "$common/index" ]; then
    read -r branch <"$common/HEAD"
    ! exists "$branch" || people=main-worktree/HEAD
    if [ "$gd" != "$common" ] || [ -n "${DRAFTFS_AGENT+set}" ]; then theirs=$branch; fi
  fi
  while read -r old new ref; do
    [ -n "$ref" ] || continue
    case $old in *[!0]*) now=$old ;; *) now=$(current) ;; esac
    [ "$new" != "$now" ] || continue
    news=moved
    # --not of another ref than this one would let a late commit hide there.
    case "ref: $ref" in
    "$theirs" | 'ref: main-worktree/HEAD') ;;
    *)
      news=$(GIT_NO_REPLACE_OBJECTS=1 GIT_GRAFT_FILE=/dev/null \
        git rev-list -1 --ignore-missing "$new" --not $now $people -- 2>/dev/null </dev/null) || news=unknown
      ;;
    esac
    [ -z "$news" ] || kept_moves=$kept_moves$old' '$new' '$ref$nl
  done
  moves=$kept_moves
}

# Whether what HEAD says leads to a commit, as far as its file and the packed refs tell: of a branch that is still unborn
# main-worktree/HEAD might mean refs/tags/main-worktree/HEAD. What a detached HEAD shows people only look at.
exists() {
  case $1 in 'ref: '*) set -- "${1#ref: }" ;; *) return 1 ;; esac
  [ -f "$common/$1" ] || cut -d' ' -f2 "$common/packed-refs" 2>/dev/null | LC_ALL=C grep -qaxF "$1"
}

# The value of $ref itself, if it has one. (A revision refs/heads/x may also mean refs/tags/refs/heads/x, which hides commits.)
current() {
  case $ref in
  refs/* | HEAD) git show-ref --verify --hash "$ref" 2>/dev/null </dev/null ;;
  *) git rev-parse --verify --quiet "$ref" 2>/dev/null </dev/null ;;
  esac
}

# Whether no ref in moves would change: pack-refs and gc name every ref there is. A few processes, however many lines.
unchanged() {
  moving=$(printf '%s' "$moves" | cut -d' ' -f2- | LC_ALL=C sort -u)
  as_it_is=$(git for-each-ref --format='%(objectname) %(refname)' refs/heads </dev/null)
  [ -n "$moving" ] && [ "$(printf '%s\n%s\n' "$moving" "$as_it_is" | LC_ALL=C sort | LC_ALL=C uniq -d)" = "$moving" ]
}

if [ -n "$foreign" ]; then
  input=$(cat && echo .) input=${input%.} replay=yes
  filter "$@" <<EOF
$input
EOF
else
  filter "$@"
fi
[ -n "$moves" ] || pass "$@"
if [ $count -gt $many ]; then
  if unchanged; then pass "$@"; fi
else
  keep_new <<EOF
$moves
EOF
  [ -n "$moves" ] || pass "$@"
fi
judge "$@" <<EOF
${moves%"$nl"}
EOF
pass "$@"
