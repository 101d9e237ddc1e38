# ── pre-receive: what somebody pushes into this repository ──

judge_input "$@"
