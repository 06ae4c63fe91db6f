"""The account that the examples trade with: the API key of GATEWAY_KEY, or a new wallet with test money and a key of its own."""

import os

from trading_gateway import Exchange, Key

URL = os.environ.get("GATEWAY_URL", "http://127.0.0.1:3010")


def api_key() -> str:
    """The seed of an API key with the scopes `read` and `trade`."""
    if "GATEWAY_KEY" in os.environ:
        return os.environ["GATEWAY_KEY"]
    key = Key.generate()
    with Exchange.connect(URL, wallet=Key.generate()) as owner:
        owner.account.faucet(sub_account_address=owner.sub_account, asset="USDC", amount="10000")
        owner.user.create_api_key(public_key=key.public_key, label="example", scopes=["read", "trade"])
    return key.seed
