#!/bin/sh
# A worker for one kind of task: put a new product on the sheet and on the card.
#
#   agents/add-product.sh TASK
#
# TASK says it in words, as jobs.yaml does: "... there is NAME (GERMAN NAME) on DAY and DAY: N places, N minutes of mixing,
# N of rest, N in the oven at N degrees. ... It holds wheat and rye." Works in the current folder, which is the project.
# Exit status: 0 done, 1 the sheet does not show the product afterwards, 2 this is another kind of task.
set -eu

task=$(printf '%s' "${1-}" | tr '\n' ' ' | tr -s ' ')
words=$(printf '%s\n' "$task" | sed -n 's/.*there is \([a-z ]*\) (\([^)]*\)) on \([A-Z][a-z]*\) and \([A-Z][a-z]*\): \([0-9]*\) places, \([0-9]*\) minutes of mixing, \([0-9]*\) of rest, \([0-9]*\) in the oven at \([0-9]*\) degrees.*/\1|\2|\3|\4|\5|\6|\7|\8|\9/p')
if [ -z "$words" ]; then
    echo "add-product: this task does not say which product: ${task:-nothing}" >&2
    exit 2
fi
IFS='|' read -r name german first second places mix rest bake heat <<EOF
$words
EOF
initial=$(printf '%.1s' "$name" | tr 'a-z' 'A-Z')
name="$initial${name#?}"
short() { printf '%.3s' "$1"; }
lower() { short "$1" | tr 'A-Z' 'a-z'; }

echo "add-product: $name on $first and $second"
printf '%s,%s %s,%s,%s,%s,%s,%s\n' "$name" "$(lower "$first")" "$(lower "$second")" \
    "$places" "$mix" "$rest" "$bake" "$heat" >>data/recipes.csv

# One row more at the end of each of the card's two tables.
holds() { case $task in *"It holds "*"$1"*) printf ' ● ' ;; *) printf ' ' ;; esac; }
offered="| $name | $german | $name | $(short "$first"), $(short "$second") |"
allergens="| $name |$(holds wheat)|$(holds rye)|$(holds oats)|$(holds milk)|$(holds egg)|$(holds seeds)|"
card=docs/menü.md
awk -v one="$offered" -v two="$allergens" '
    /^\|/ { table = 1 }
    !/^\|/ && table { print (++ended == 1 ? one : two); table = 0 }
    { print }
' "$card" >"$card.new"
cat "$card.new" >"$card"
rm "$card.new"

bin/daysheet "$(lower "$first")" | grep -F "$name" || exit 1
