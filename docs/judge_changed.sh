#!/usr/bin/env bash
# Judges the kernel files that a branch changes: judge_changed.sh BASE [PATHSPEC...], called in the kernels' repository.
#
#   BASE      the commit that the branch is compared with
#   PATHSPEC  where git looks for kernels (default: all of *.py); of those, files that define an operator are judged
#
# Environment: ARGS, more options of the judge, quoted for a shell; SKIPS, a file for --skips; AGAINST_BASE=yes, also compare
# each kernel with itself at BASE; REPORTS, where reports go (default: judge-reports); JUDGE_PYTHON, a Python that has
# what the judge needs (default: one that is made now). Exit code: 0, all hold; else the highest code of the judge.
set -euo pipefail
export PYTHONDONTWRITEBYTECODE=1 # the kernels' repository stays as it is
judge=$(cd "$(dirname "$0")/.." && pwd -P)
base=$(git rev-parse --verify --quiet "${1:-}^{commit}") || { echo "BASE is '${1:-}', but must be a commit" >&2; exit 4; }
shift
(($#)) || set -- '*.py'
cd "$(git rev-parse --show-toplevel)"
mkdir -p "${REPORTS:=judge-reports}"
reports=$(cd "$REPORTS" && pwd)
summary=${GITHUB_STEP_SUMMARY:-/dev/null}

kernels=()
while IFS= read -r -d '' path; do
    if grep -qE '^def (fused_sconv|sconv_seq_metadata)\(' "$path"; then kernels+=("$path"); fi
done < <(git diff --name-only -z --diff-filter=d "$base...HEAD" -- "$@")
if ((${#kernels[@]} == 0)); then
    echo "no kernel file is changed" | tee -a "$summary"
    exit 0
fi
printf 'to be judged: %s\n' "${kernels[@]}"

python=${JUDGE_PYTHON:-}
if [ -z "$python" ]; then
    bash "$judge/.ci/environment" judge
    python=$judge/.venv/bin/python
fi
options=()
if [ -n "${SKIPS:-}" ]; then options+=(--skips "$PWD/$SKIPS"); fi
eval "more=(${ARGS:-})" # words as a shell splits them: -m 'values or cache' has two
judge() { # from the judge's folder, so that no folder of this repository stands in for one of the judge's
    (cd "$judge" && OMP_NUM_THREADS=1 "$python" -m pytest -n auto tests --ignore=tests/meta "$@" "${options[@]}" "${more[@]}") 2>&1
}

# A wrong request ends here, where every report of an earlier run is still in its place.
code=0
said=$(judge --collect-only -q ${AGAINST_BASE:+--baseline sconv}) || code=$?
if ((code)); then
    { grep '^ERROR: ' <<<"$said" || tail -n 1 <<<"$said"; } | # by the names of what was asked for here
        sed "s/so --baseline sconv would/so AGAINST_BASE=${AGAINST_BASE:-} would/; s/add it: -m /add it in ARGS: -m /" | tee -a "$summary"
    exit "$code"
fi

worst=0
for path in "${kernels[@]}"; do
    folder=$reports/${path%.py}
    rm -rf "$folder"
    mkdir -p "$folder"
    compared=()
    if [ -n "${AGAINST_BASE:-}" ] && git cat-file -e "$base:$path" 2>/dev/null; then
        git show "$base:$path" >"$folder/base.py"
        compared=(--baseline "$folder/base.py")
    fi
    code=0
    judge --candidate "$PWD/$path" --report "$folder" "${compared[@]}" | tee "$folder/terminal.txt" || code=$?
    if [ -f "$folder/report.md" ]; then
        cat "$folder/report.md" >>"$summary"
    else # a file that is no kernel: one line says so
        printf '## %s: not judged\n\n' "$path" >>"$summary"
        { grep '^ERROR: ' "$folder/terminal.txt" || tail -n 1 "$folder/terminal.txt"; } | sed 's/^/    /' >>"$summary"
    fi
    if ((code > worst)); then worst=$code; fi
done
exit "$worst"
