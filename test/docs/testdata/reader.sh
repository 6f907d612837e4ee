# What a reader brings along. The pages' comments may use these functions.
set -eo pipefail
shopt -s inherit_errexit

# new_key USER  adds a key to the user's HostedBridge in the namespace tenants, and
# prints it once it opens the bridge.
new_key() {
    local key
    key=$(kubectl bridge key create "$1" --namespace=tenants)
    await everywhere curl -s -H "Authorization: Bearer $key" "$HB_URL/u/$1/health"
    printf '%s' "$key"
}

# await COMMAND  runs a command until it succeeds, for half a minute.
await() {
    local end=$((SECONDS + 30))
    until "$@" >/dev/null 2>&1; do
        [[ $SECONDS -lt $end ]] || { echo "not within 30 s: $1" >&2; return 1; }
        sleep 0.2
    done
}

# everywhere COMMAND  succeeds where a request does eight times on end: by then
# most likely each replica of two has answered one.
everywhere() {
    local n
    for n in 1 2 3 4 5 6 7 8; do "$@" || return; done
}

# offers USER KEY TOOL  succeeds if the user's bridge lists the tool.
offers() {
    local answer
    answer=$(curl -sS "$HB_URL/u/$1/mcp" -H "Authorization: Bearer $2" \
        -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' \
        -H 'MCP-Protocol-Version: 2026-07-28' -H 'Mcp-Method: tools/list' \
        -d '{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"curl","version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}}}') &&
        grep -qF "\"name\":\"$3\"" <<<"$answer"
}

# An answer that is an error fails the page.
curl() { command curl --fail-with-body "$@"; }

# Who looks for something in a log and finds nothing has learned it. With -q it is
# a question whose answer counts.
grep() {
    case " $* " in *" -q"*) command grep "$@" ;; *) command grep "$@" || [[ $? -eq 1 ]] ;; esac
}
