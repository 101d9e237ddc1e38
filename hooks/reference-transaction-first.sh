# ── reference-transaction: git asks about every ref; what is no move leaves before the shell has read the rest of this file ──

# Whether the line in old, new and ref can move a branch, or a detached HEAD, to a commit. Never stop a deletion (pack-refs
# makes many), nor a symbolic ref. The old value may be zero where nobody asked for it.
matters() {
  case $ref in refs/heads/* | HEAD | main-worktree/HEAD | worktrees/*/HEAD) ;; *) return 1 ;; esac
  case $new in "$old" | ref:*) return 1 ;; *[!0]*) ;; *) return 1 ;; esac
}

line=''
if [ -z "$kept${DRAFTFS_SELFTEST-}" ]; then
  [ "$1" = prepared ] || exit 0
  while read -r old new ref; do
    if matters; then
      line=read
      break
    fi
  done
  [ -n "$line" ] || exit 0
fi
