#!/usr/bin/env bash
# Puts the gate's table on the pull request: one comment, renewed by every push.
set -euo pipefail
trap 'echo "::warning::The comment could not be written; the job needs pull-requests: write."; exit 0' ERR
marker="<!-- embassay-gate $NAME -->"
comments="repos/$GITHUB_REPOSITORY/issues/$PULL/comments"
earlier=$(gh api --paginate "$comments" --jq ".[] | select(.body | startswith(\"$marker\")) | .id" | head -n 1)
if [ -n "$earlier" ]; then
    gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$earlier" -F body=@.embassay-action/gate.md
else
    gh api --silent --method POST "$comments" -F body=@.embassay-action/gate.md
fi
