#!/usr/bin/env bash
# Gates the new run: no worse than the base branch's, if there is one, and by the thresholds of $GATE. On a push the
# new run becomes the base of pull requests to come.
set -uo pipefail
marker="<!-- embassay-gate $NAME -->"
base=()
if [ -f .embassay-action/base/manifest.json ] && [ "${GITHUB_EVENT_NAME:-}" != push ]; then
    base=(--no-worse-than .embassay-action/base)
fi
{ echo "$marker"; echo; } > .embassay-action/gate.md
code=0
if [ "${#base[@]}" -eq 0 ] && [ -z "$GATE" ]; then
    echo "No run of the base branch is stored yet and no threshold is given, so nothing was gated." \
        >> .embassay-action/gate.md
else
    # $GATE holds several words, quoted as in a shell.
    eval "set -- $GATE"
    embassay gate .embassay-action/new ${base[@]+"${base[@]}"} "$@" --markdown .embassay-action/table.md || code=$?
    if [ -f .embassay-action/table.md ]; then
        cat .embassay-action/table.md >> .embassay-action/gate.md
    else
        echo "The gate could not be run (exit code $code); see the log." >> .embassay-action/gate.md
    fi
fi
cat .embassay-action/gate.md >> "${GITHUB_STEP_SUMMARY:-/dev/null}"
[ "$code" -eq 0 ] && passed=true || passed=false
echo "passed=$passed" >> "$GITHUB_OUTPUT"
if [ "${GITHUB_EVENT_NAME:-}" = push ] && [ "$passed" = true ]; then
    rm -rf .embassay-action/base
    cp -r .embassay-action/new .embassay-action/base
fi
