/** How requests are signed, with examples that can be computed again, as the description of the API shows it. */

/** A login and a request as a wallet and an API key sign them. The keys are the public test keys of RFC 8032. */
export const EXAMPLE = {
  login: {
    seed: "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
    public_key: "0xd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
    timestamp_ms: 1767225600000,
    nonce: "bG9naW4tbm9uY2UtMDAwMQ",
    message:
      "SERVICE_AUTH|LOGIN|0xd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a|1767225600000|bG9naW4tbm9uY2UtMDAwMQ",
    signature:
      "0x65ba054e367cd4b105b852f8670fe1b07c2579fc974bf25fbaf81d9aab5ab1415090606a1a0482af42e9cdaabb245574b608158d24fd854d34992a6840cd640b"
  },
  request: {
    seed: "4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
    public_key: "0x3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c",
    method: "GET",
    uri: "/api/v1/order/history?symbol=BTC-USDC&limit=50",
    timestamp_ms: 1767225600000,
    nonce: "3f0c8f8e-2f0b-4f57-9a52-6a2b6a0f3e11",
    message:
      "SERVICE_API|GET|/api/v1/order/history?symbol=BTC-USDC&limit=50|1767225600000|3f0c8f8e-2f0b-4f57-9a52-6a2b6a0f3e11",
    signature:
      "0x7010f86e489deaf7a8b376508927618fbe93ba0317067ea4fbff44ef672569b313705ae78ec8acf4062df3effa3baf36a6f0acdd0abbb32520d54f8f00128e09"
  }
} as const

const { login, request } = EXAMPLE

/** Markdown. */
export const SIGNING = `## Signing

Signatures are Ed25519 (RFC 8032) over the UTF-8 bytes of a message. Keys and signatures are hex, 0x-hex, base64 or base64url. The seeds below are public test keys: never use them.

### Login

\`POST /api/v1/authorize\` takes a signature over \`SERVICE_AUTH|LOGIN|{public_key}|{timestamp_ms}|{nonce}\`. The public key is written as in the body. The nonce is used once. The answer holds the bearer token.

\`\`\`text
seed       ${login.seed}
message    ${login.message}
signature  ${login.signature}
\`\`\`

\`\`\`json
{
  "public_key": "${login.public_key}",
  "signature": "${login.signature}",
  "timestamp_ms": ${login.timestamp_ms},
  "nonce": "${login.nonce}"
}
\`\`\`

### API key

A request with an API key carries a signature over \`SERVICE_API|{method}|{uri}|{timestamp_ms}|{nonce}\`. The uri is path and query, byte for byte as sent. A body is covered by \`|{body_sha256}\` at the end; then the header X-BODY-SHA256 holds the same hash.

\`\`\`text
seed       ${request.seed}
message    ${request.message}
\`\`\`

\`\`\`http
${request.method} ${request.uri}
X-API-KEY: ${request.public_key}
X-SIGNATURE: ${request.signature}
X-TIMESTAMP-MS: ${request.timestamp_ms}
X-NONCE: ${request.nonce}
\`\`\``
