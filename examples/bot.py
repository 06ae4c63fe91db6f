"""A short bot: logs in with a new key, takes test money, bids at the best price, and cancels the bid once it rests.

python3 examples/bot.py, against the gateway of GATEWAY_URL (http://127.0.0.1:3010). Needs the Debian packages
python3-cryptography and python3-websockets.
"""

import asyncio
import json
import os
import secrets
import time
import urllib.error
import urllib.request

import websockets
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

URL = os.environ.get("GATEWAY_URL", "http://127.0.0.1:3010")
SYMBOL = "BTC-USDC"
FINAL = {"Filled", "Canceled", "PartiallyFilledCanceled", "Rejected", "Expired"}


def call(method, path, body=None, token=None):
    """Sends one request and returns its JSON. The exception has the error's code and reason."""
    headers = {"content-type": "application/json"}
    if token is not None:
        headers["authorization"] = f"Bearer {token}"
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{URL}/api/v1{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        raise RuntimeError(f"{method} {path}: {error.code} {error.read().decode()}") from None


def login(key):
    """Signs key, time and nonce, and returns a token that is valid for 7 days."""
    public_key = "0x" + key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw).hex()
    timestamp_ms, nonce = int(time.time() * 1000), secrets.token_hex(16)
    signature = key.sign(f"SERVICE_AUTH|LOGIN|{public_key}|{timestamp_ms}|{nonce}".encode()).hex()
    body = {"public_key": public_key, "signature": signature, "timestamp_ms": timestamp_ms, "nonce": nonce}
    return call("POST", "/authorize", body)["token"]


async def follow(token, topic):
    """Yields every event of a private topic: first a snapshot, then the changes."""
    async with websockets.connect(f"{URL.replace('http', 'ws', 1)}/ws/private", close_timeout=1) as socket:
        await socket.send(json.dumps({"op": "auth", "bearer": token}))
        async for text in socket:
            frame = json.loads(text)
            if frame["op"] == "error" or frame.get("success") is False:
                raise RuntimeError(text)
            if frame["op"] == "auth":
                await socket.send(json.dumps({"op": "subscribe", "args": [topic]}))
            if frame["op"] == "event":
                yield frame["data"]


async def bot():
    token = login(Ed25519PrivateKey.generate())
    vault = call("GET", "/user/sub-accounts", token=token)["list"][0]["sub_account_address"]
    call("POST", "/account/faucet", {"sub_account_address": vault, "asset": "USDC", "amount": "1000"}, token)
    order = {"sub_account_address": vault, "symbol": SYMBOL, "order_link_id": f"bot-{secrets.token_hex(4)}"}

    async for data in follow(token, "order"):
        if data["type"] == "snapshot":
            # the stream is open: it delivers every later change of the order
            book = call("GET", f"/market/orderbook?symbol={SYMBOL}&depth=1")
            bid = {"side": "Buy", "order_type": "Limit", "qty": "0.001", "price": book["bids"][0][0], "post_only": True}
            call("POST", "/order/create", order | bid, token)
        for record in data["list"]:
            print(record["order_status"], record["side"], record["qty"], "at", record["price"], flush=True)
            if record["order_status"] == "New":
                call("POST", "/order/cancel", order, token)
            elif record["order_status"] in FINAL:
                return


asyncio.run(bot())
