#compdef kubectl-purge
# Completion of kubectl-purge for zsh 5 and newer.
_kubectl_purge() {
    local line directive=4
    local -a candidates arguments
    # The word is completed as far as the cursor is.
    arguments=("${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}")
    while IFS= read -r line; do
        case "$line" in
        :*) directive="${line#:}" ;;
        *$'\t'*) candidates+=("${${line%%$'\t'*}//:/\\:}:${line#*$'\t'}") ;;
        *) candidates+=("${line//:/\\:}") ;;
        esac
    done < <("${(Q)words[1]}" __complete "${arguments[@]}" 2>/dev/null)
    [[ "$PREFIX" == --*=* ]] && compset -P '*='
    case "$directive" in
    0) _files ;;
    16) _files -/ ;;
    6) _describe -V candidate candidates -S '' ;;
    *) _describe -V candidate candidates ;;
    esac
}
if [[ "${funcstack[1]}" == _kubectl_purge ]]; then
    _kubectl_purge "$@"
else
    compdef _kubectl_purge kubectl-purge
fi
