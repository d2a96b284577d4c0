# SPDX-License-Identifier: MIT
# For tests of programs in a guest: TAP lines for what they print and how they
# end. At the end: echo "1..$n"; exit $bad.
n=0
bad=0
result() {
	n=$((n + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $n - $2"
	else
		echo "not ok $n - $2"
		bad=1
	fi
}
# prints TEXT COMMAND...: it ends well and its output has the text in it.
prints() {
	text=$1
	shift
	out=$("$@" 2>&1) && printf '%s\n' "$out" | grep -qF -- "$text"
	result $? "$* prints '$text'"
	printf '%s\n' "$out" | head -n 5 | sed 's/^/# /'
}
# fails STATUS TEXT COMMAND...: it ends with the status and says so on stderr.
fails() {
	status=$1 text=$2
	shift 2
	out=$("$@" 2>&1 >/dev/null)
	[ $? -eq "$status" ] && printf '%s\n' "$out" | grep -qF -- "$text"
	result $? "$* ends with $status and '$text'"
	printf '%s\n' "$out" | head -n 5 | sed 's/^/# /'
}
