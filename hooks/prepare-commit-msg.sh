# ── prepare-commit-msg: the early, friendly refusal, also under --no-verify; and the trailers ──

locate
# A rebase makes commits that exist already; the branch itself moves at its end, and reference-transaction sees that.
if [ -d "$gd/rebase-merge" ] || [ -d "$gd/rebase-apply" ]; then pass "$@"; fi
if [ "$gd" = "$common" ] && [ -z "${DRAFTFS_AGENT+set}" ] && [ ! -f "$gd/draftfs-worktree/held.json" ]; then pass "$@"; fi
has_store || pass "$@"

# Sets job and epoch to the one live claim that this worktree keeps; fails where there is none, or more than one.
find_claim() {
  found=
  for note in "$gd"/draftfs-worktree/claim-*-*.json; do
    [ -f "$note" ] || continue
    claim=${note##*/claim-} claim=${claim%.json}
    lease=$store/leases/$(printf %04d "${claim%-*}").yaml
    if [ -f "$lease" ] && grep -qx "epoch: ${claim#*-}" "$lease"; then
      [ -z "$found" ] || return 1
      found=$claim
    fi
  done
  job=${found%-*} epoch=${found#*-}
  [ -n "$found" ]
}

# Names the claim at the end of the message, in place of whatever claim is named there: information; no rule reads it. Not
# where the text is empty, or an editor will open on nothing or on a template: left untouched, that must still abort the
# commit, and a trailer would make a message of it.
add_trailers() {
  find_claim || return 0
  [ -n "$(git stripspace --strip-comments <"$1")" ] || return 0
  if [ -n "$(tail -c 1 "$1")" ]; then echo >>"$1"; fi # else the first would be glued to the subject
  # Never --if-exists=replace: git takes a key that begins like ours ("Draft: yes"), or that ours begin with, for the same.
  ours='^Draftfs-(Job|Epoch): [0-9]+$'
  if LC_ALL=C grep -qE "$ours" "$1"; then
    rest=$(LC_ALL=C grep -vE "$ours" "$1"; echo .)
    printf '%s' "${rest%.}" >"$1"
  fi
  # Where no editor opens (git then says so), a line like "#123" is text, and ours go behind it.
  message=$1
  set -- git
  [ "${GIT_EDITOR-}" != : ] || set -- git -c core.commentChar="$(printf '\001')"
  "$@" interpret-trailers --in-place --no-divider --where=end --if-exists=add \
    --if-missing=add --trailer="Draftfs-Job: $job" --trailer="Draftfs-Epoch: $epoch" "$message"
}

# A message that is given opens no editor: reference-transaction judges that commit a moment from now, and a second start of
# Python would only double what it costs.
[ "${2-}" = message ] || judge "$@" </dev/null
case ${2-} in message | commit | squash) add_trailers "$1" ;; esac
pass "$@"
