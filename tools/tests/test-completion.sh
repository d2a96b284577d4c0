#!/bin/bash
# SPDX-License-Identifier: MIT
# What bash completes, as TAP: test-completion.sh COMPLETION FOLDER-OF-FAKES
. "$1"
n=0
bad=0
# completes WANTED TOOL WORD...: one of the words that complete the last one
completes()
{
	local wanted=$1 tool=$2
	shift 2
	COMP_WORDS=("$tool" "$@")
	COMP_CWORD=$#
	_neuron_tools "$tool"
	n=$((n + 1))
	if printf '%s\n' "${COMPREPLY[@]}" | grep -qxF -- "$wanted"; then
		echo "ok $n - ${tool##*/} $* completes to $wanted"
	else
		echo "not ok $n - ${tool##*/} $* completes to $wanted, not: ${COMPREPLY[*]}"
		bad=1
	fi
}
for tool in "$2"/fake-neuron-*; do
	[ -x "$tool" ] && [ -f "$tool" ] || continue
	case $tool in
	*-trace) completes --text "$tool" --t ;;
	*) completes --json "$tool" --j ;;
	esac
	completes --version "$tool" --
done
fabric=$2/fake-neuron-fabric
neuron-fabric() { "$fabric" "$@"; }
completes drain neuron-fabric dr
completes --force neuron-fabric --f
completes all neuron-fabric --device 0 drain a
completes counters neuron-fabric clear 0 c
bench=$2/fake-neuron-bench
neuron-bench() { "$bench" "$@"; }
completes sweep neuron-bench sw
completes h2d-user neuron-bench sweep --json h2d-
completes --clock neuron-bench sweep --c
completes --explain neuron-bench coll --e
trace=$2/fake-neuron-trace
neuron-trace() { "$trace" "$@"; }
completes convert neuron-trace c
completes processes neuron-top --view p
# Every tool that is built is completed.
for tool in "$2"/fake-neuron-*; do
	[ -x "$tool" ] && [ -f "$tool" ] || continue
	name=${tool##*/fake-}
	n=$((n + 1))
	if complete -p "$name" >/dev/null 2>&1; then
		echo "ok $n - $name is completed"
	else
		echo "not ok $n - $name is not completed"
		bad=1
	fi
done
echo "1..$n"
exit $bad
