# ── pre-push: what is pushed ──

judge_input "$@"
