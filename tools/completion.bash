# SPDX-License-Identifier: BSD-2-Clause
# completion.bash - what may come next on the command line of quiver, as its own --help says.
_quiver()
{
	local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} words=() i help

	case $prev in
	--json | --plot | --plugin | --library | --bitstream | --launcher | -o | --output)
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
		;;
	esac
	for ((i = 0; i < COMP_CWORD; i++)); do
		case ${COMP_WORDS[i]} in
		-*) break ;;
		*) words+=("${COMP_WORDS[i]}") ;;
		esac
	done
	[ "${words[1]-}" = help ] && unset 'words[1]' && words=("${words[@]}")
	if [[ ${words[1]-} = trace && ${#words[@]} -ge 3 && $cur != -* ]]; then
		mapfile -t COMPREPLY < <(compgen -f -- "$cur")
		return
	fi
	help=$("${words[@]}" --help 2>/dev/null)
	# Commands stand two spaces in, options likewise: --name.
	mapfile -t COMPREPLY < <(compgen -W "$(
		if [[ $help == *'<command>'* ]]; then
			sed -n 's/^  \([a-z]\{1,\}\) .*/\1/p' <<<"$help"
		else
			grep -o -- '--[a-z-]\{1,\}' <<<"$help" | sort -u
		fi
	)" -- "$cur")
}
complete -F _quiver quiver
