#!/bin/sh
# Waits in a CI job until a batch of transfers is settled, and writes an HTML report about the batch:
#
#   HOPTOP_BASE_URL=https://... HOPTOP_INTEGRATOR_ID=... ci.sh transfers.csv
#
# Fails unless all transfers succeed. TIMEOUT is the longest wait (default 30m). REPORT is the path of the report (default
# transfers.html).
set -eu

batch=${1:?name the batch: ci.sh BATCH.csv}
report=${REPORT:-transfers.html}

# The job has its own store, so that only this batch decides the result. The budget still belongs to the integrator ID.
HOPTOP_DB=${HOPTOP_DB:-$(mktemp -d)/hoptop.db}
export HOPTOP_DB

hoptop import "$batch"
code=0
hoptop watch --until-settled --timeout "${TIMEOUT:-30m}" || code=$?
hoptop export -o "$report" || echo "the page could not be written"

case $code in
2) echo "there was nothing to watch, or a setting is wrong: see above" ;;
0) echo "all transfers ended well: $report" ;;
3) echo "not settled in time; what is left:" && hoptop list is:unsettled ;;
4) echo "settled, and these need somebody:" && hoptop list is:attention ;;
5) echo "the service refuses the integrator ID: check the job's secrets" ;;
6) echo "the service can't be reached: try the job again" ;;
*) echo "hoptop ended with $code" ;;
esac
exit "$code"
