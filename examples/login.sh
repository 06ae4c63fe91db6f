#!/usr/bin/env bash
# Logs in with openssl and curl only. The wallet is an Ed25519 key in a PEM file.
#
#   openssl genpkey -algorithm ed25519 -out key.pem
#   eval "$(examples/login.sh key.pem)"
#
# sets TOKEN, for `authorization: Bearer $TOKEN`, and VAULT, the address of the first sub-account.
set -euo pipefail
key=$1
url=${GATEWAY_URL:-http://127.0.0.1:3010}/api/v1
message=$(mktemp) && trap 'rm -f "$message"' EXIT
# prints the first field of that name in the JSON on standard input
field() { grep -oE "\"$1\":\"?[^\",}]*" | head -n 1 | sed -E 's/^[^:]*:"?//'; }

# the last 32 bytes of the public key's DER are the key itself
public_key=0x$(openssl pkey -in "$key" -pubout -outform DER | tail -c 32 | od -An -v -tx1 | tr -d ' \n')
nonce=$(openssl rand -hex 16)
timestamp_ms=$(curl -fsS "$url/market/time" | field server_ts_ms)
printf 'SERVICE_AUTH|LOGIN|%s|%s|%s' "$public_key" "$timestamp_ms" "$nonce" >"$message"
signature=$(openssl pkeyutl -sign -inkey "$key" -rawin -in "$message" | openssl base64 -A)
answer=$(curl -fsS "$url/authorize" -H 'content-type: application/json' -d "{
  \"public_key\": \"$public_key\", \"signature\": \"$signature\", \"timestamp_ms\": $timestamp_ms, \"nonce\": \"$nonce\" }")

token=$(field token <<<"$answer")
accounts=$(curl -fsS "$url/user/sub-accounts" -H "authorization: Bearer $token")
echo "export TOKEN=$token VAULT=$(field sub_account_address <<<"$accounts")"
