# Completion of kubectl-purge for bash 3.2 and newer.
_kubectl_purge() {
    local line="${COMP_LINE:0:COMP_POINT}" current="" candidate directive=4
    local words=() lines=()
    # COMP_WORDS is taken apart at each = and :, so the words are read from the line.
    read -r -a words <<<"$line"
    case "$line" in
    *[[:space:]]) words+=("") ;;
    *) current="${words[${#words[@]} - 1]}" ;;
    esac
    COMPREPLY=()
    while IFS= read -r candidate; do
        case "$candidate" in
        :*) directive="${candidate#:}" ;;
        *) lines+=("${candidate%%$'\t'*}") ;;
        esac
    done < <("${words[0]}" __complete "${words[@]:1}" 2>/dev/null)
    case "$directive" in
    0) compopt -o default 2>/dev/null ;;
    6) compopt -o nospace 2>/dev/null ;;
    16) compopt -o dirnames 2>/dev/null ;;
    esac
    # bash puts a candidate in the place of what follows the last colon only.
    local kept=""
    case "$current" in
    *:*) [[ "$COMP_WORDBREAKS" == *:* ]] && kept="${current%:*}:" ;;
    esac
    for candidate in "${lines[@]}"; do
        COMPREPLY+=("${candidate#"$kept"}")
    done
}
complete -F _kubectl_purge kubectl-purge
