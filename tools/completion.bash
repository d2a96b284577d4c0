# SPDX-License-Identifier: MIT
# bash completion for the neuron tools. Options are those that --help lists, so
# that there is one truth.

_neuron_tools()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} tool=$1 words i
	local command=()

	COMPREPLY=()
	case ${tool##*/}:$prev in
	*:--config-file | *:--plot | *:--against-file | *:--output)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	neuron-top:--view | neuron-top:-v)
		words="overview device links processes"
		;;
	neuron-top:--device | neuron-top:-i | *:--device)
		words=$(cd /sys/class/accel 2>/dev/null && printf '%s\n' accel*)
		[ "${tool##*/}" != neuron-top ] || words=$(seq 0 "$(($(wc -l <<<"$words") - 1))")
		;;
	*)
		# neuron-bench has options for each of its commands.
		case ${tool##*/}:${COMP_WORDS[1]} in
		*neuron-bench:sweep | *neuron-bench:coll | *neuron-bench:p2p) command=("${COMP_WORDS[1]}") ;;
		esac
		if [[ $cur = -* ]]; then
			words=$("$tool" "${command[@]}" --help 2>/dev/null | grep -oE '(^|[ ,(])--[a-z][a-z-]*' | tr -d ' ,(')
		elif [ "${tool##*/}" = neuron-bench ]; then
			words="sweep coll p2p"
			[ -z "${command[*]}" ] || words=
			[ "${command[*]}" != sweep ] || words="h2d d2h d2d h2d-user d2h-user rate"
		elif [ "${tool##*/}" = neuron-trace ]; then
			[ "$COMP_CWORD" -gt 1 ] && mapfile -t COMPREPLY < <(compgen -fc -- "$cur") && return
			words="record convert"
		elif [ "${tool##*/}" = neuron-fabric ]; then
			words="status ports counters errors events peers path groups partitions
				enable disable drain train reset cap loopback clear"
			# One command: what follows it are its arguments.
			for ((i = 1; i < COMP_CWORD; i++)); do
				case " ${words//[$'\n\t']/ } " in
				*" ${COMP_WORDS[i]} "*)
					words="all on off counters latch lanes= rate="
					break
					;;
				esac
			done
		fi
		;;
	esac
	mapfile -t COMPREPLY < <(compgen -W "$words" -- "$cur")
}

complete -F _neuron_tools neuron-bench neuron-demo neuron-doctor neuron-dump neuron-fabric neuron-ls \
	neuron-monitor neuron-top neuron-trace
