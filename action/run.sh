#!/usr/bin/env bash
# Makes the run of $COMMAND, and a report of it.
set -euo pipefail
mkdir -p .embassay-action/report
bash -c "$COMMAND --out .embassay-action/new"
embassay report .embassay-action/new --out .embassay-action/report/report.html
