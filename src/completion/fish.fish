# Completion of kubectl-purge for fish 3 and newer.
function __kubectl_purge_complete
    set -l current "$(commandline -ct)"
    set -l words (commandline -opc)
    set -l lines (command $words[1] __complete $words[2..-1] "$current" 2>/dev/null)
    set -l directive $lines[-1]
    set -e lines[-1]
    # fish puts a candidate in the place of the whole word.
    set -l kept (string match -r -- '^--[^=]*=' "$current")
    for line in $lines
        printf '%s\n' "$kept$line"
    end
    switch "$directive"
        case :0
            __fish_complete_path (string replace -r -- '^--[^=]*=' '' "$current")
        case :16
            __fish_complete_directories (string replace -r -- '^--[^=]*=' '' "$current")
    end
end
complete -c kubectl-purge -f -a '(__kubectl_purge_complete)'
