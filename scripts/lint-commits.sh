#!/bin/sh
# lint-commits.sh -- the subject of a commit is `area: what`, in at most 72 characters; the why is its body.
#
# Commits up to 6655897 were made before this rule.  Where that one is not to be seen, in an archive, a shallow clone,
# nothing is checked.
set -eu
cd "$(dirname "$0")/.."
since=6655897
git merge-base --is-ancestor $since HEAD 2>/dev/null || exit 0
git log --no-merges --format='%h %s' $since..HEAD | awk '
{
    commit = $1
    sub(/^[^ ]* /, "")
    why = ""
    if (length($0) > 72) why = length($0) " characters, of 72"
    if ($0 !~ /^[A-Za-z0-9_.\/*-]+(, [A-Za-z0-9_.\/*-]+)*: [^ ]/) why = "not `area: what`"
    if (why == "") next
    print commit " \"" $0 "\": " why >"/dev/stderr"
    bad = 1
}
END { exit bad }'
