"""Ed25519 keys of wallets and API keys, and the addresses derived from them."""

from __future__ import annotations

import hashlib
import secrets
from typing import Protocol, Union

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


class Signer(Protocol):
    """Signs for one key; a hardware key implements it."""

    @property
    def public_key(self) -> str:
        """`0x` and 64 hex digits."""
        ...

    def sign(self, text: str) -> str:
        """Signature over the UTF-8 bytes of a text, `0x` and 128 hex digits."""
        ...


class Key:
    """A key from its seed: 32 bytes, or 64 hex digits with or without `0x`."""

    def __init__(self, seed: Union[str, bytes]) -> None:
        try:
            raw = bytes.fromhex(seed[2:] if seed.startswith("0x") else seed) if isinstance(seed, str) else seed
        except ValueError:
            raw = b""
        if not isinstance(raw, bytes) or len(raw) != 32:
            # without the value, which is a secret
            raise ValueError("seed: expected 32 bytes, or 64 hex digits")
        self._seed = raw
        self._key = Ed25519PrivateKey.from_private_bytes(raw)
        self._public = self._key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)

    @staticmethod
    def generate() -> Key:
        """A new key; keep its `seed` secret."""
        return Key(secrets.token_bytes(32))

    @property
    def seed(self) -> str:
        """64 hex digits."""
        return self._seed.hex()

    @property
    def public_key(self) -> str:
        """`0x` and 64 hex digits."""
        return f"0x{self._public.hex()}"

    @property
    def root_address(self) -> str:
        """Address of the wallet of this key."""
        return f"0x{hashlib.sha3_256(self._public + bytes([0x00])).hexdigest()}"

    def party(self, hint: str) -> str:
        """Id of the party of this key: `<hint>::<fingerprint>`."""
        return f"{hint}::1220{hashlib.sha256((12).to_bytes(4, 'big') + self._public).hexdigest()}"

    def sign(self, text: str) -> str:
        """Signature over the UTF-8 bytes of a text, `0x` and 128 hex digits."""
        return f"0x{self._key.sign(text.encode()).hex()}"

    def __repr__(self) -> str:
        return f"Key({self.public_key})"


def root_of_party(party: str) -> str:
    """Address of the wallet of a party."""
    return f"0x{hashlib.sha3_256(b'service-party-root|' + party.encode() + bytes([0xF0])).hexdigest()}"


def nonce() -> str:
    """A new nonce: 128 random bits in hex."""
    return secrets.token_hex(16)
