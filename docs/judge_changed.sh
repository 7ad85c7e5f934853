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
summary=${GITHUB_STEP_SUMMARY:-/dev/null}
refuse() { # a wrong request: one line, and nothing is left behind
    echo "$1" | tee -a "$summary" >&2
    exit "${2:-4}"
}

usage="usage: ${0##*/} BASE [PATHSPEC...], in the kernels' repository: judges what HEAD changes since the commit BASE"
case ${1:-} in
    -h | --help) echo "$usage" && exit ;;
    '' | -*) refuse "BASE is '${1:-}', but must be a commit; $usage" ;;
esac
top=$(git rev-parse --show-toplevel 2>/dev/null) || refuse "$PWD is in no git repository; call this in that of the kernels"
base=$(git rev-parse --verify --quiet "$1^{commit}") || refuse "BASE is '$1', but must be a commit"
case ${AGAINST_BASE:-} in
    '' | yes) ;;
    *) refuse "AGAINST_BASE is '$AGAINST_BASE', but must be yes or empty" ;;
esac
more=() # words as a shell splits them: -m 'values or cache' has two
eval "more=(${ARGS:-})" 2>/dev/null || refuse "ARGS is \"${ARGS:-}\", but must be words as a shell takes them"
options=()
case ${SKIPS:-} in
    '') ;;
    /*) options+=(--skips "$SKIPS") ;;
    *) options+=(--skips "$top/$SKIPS") ;;
esac
shift
(($#)) || set -- '*.py'
cd "$top"

changed() { git diff --name-only -z --diff-filter=d "$base...HEAD" -- "$@"; }
why=$(changed "$@" 2>&1 >/dev/null) || refuse "git cannot tell what HEAD changes since BASE: ${why##*fatal: }"
kernels=()
while IFS= read -r -d '' path; do
    if grep -qE '^def (fused_sconv|sconv_seq_metadata)\(' "$path"; then kernels+=("$path"); fi
done < <(changed "$@")
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
command -v "$python" >/dev/null || refuse "JUDGE_PYTHON is '$python', but must be a Python"
if [[ $python == */* && $python != /* ]]; then python=$PWD/$python; fi # it is called in the judge's folder
"$python" -c 'import pytest' 2>/dev/null || refuse "JUDGE_PYTHON is '$python', which cannot import pytest"
judge() { # from the judge's folder, so that no folder of this repository stands in for one of the judge's
    (cd "$judge" && OMP_NUM_THREADS=1 "$python" -m pytest -n auto tests --ignore=tests/meta "$@" "${options[@]}" "${more[@]}") 2>&1
}
line_of() { # what pytest, or the judge, says of a wrong request, by the names of what was asked for here
    sed -n '/^ERROR: usage: /,/: error: /{s/^.*: error: /ERROR: in ARGS: /p;d}; /^ERROR: /p' <<<"$1" |
        sed "1!d; s/so --baseline sconv would/so AGAINST_BASE=${AGAINST_BASE:-} would/; s/add it: -m /add it in ARGS: -m /"
}

# A wrong request ends here, where every report of an earlier run is still in its place.
code=0
said=$(judge --collect-only -q ${AGAINST_BASE:+--baseline sconv}) || code=$?
if ((code)); then
    line=$(line_of "$said")
    [ -n "$line" ] || line=$(tail -n 1 <<<"$said")
    refuse "${line:-$python -m pytest ends with code $code and says nothing}" "$code"
fi
mkdir -p "${REPORTS:=judge-reports}" 2>/dev/null || refuse "REPORTS is '$REPORTS', but must be a folder that can be written"
reports=$(cd "$REPORTS" && pwd)

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
        line=$(line_of "$(<"$folder/terminal.txt")")
        sed 's/^/    /' <<<"${line:-$(tail -n 1 "$folder/terminal.txt")}" >>"$summary"
    fi
    if ((code > worst)); then worst=$code; fi
done
exit "$worst"
