"""Keys against the vectors, and records against the examples of the documents. Run in the repository."""

import json
import unittest
from pathlib import Path
from typing import Any

from trading_gateway import DecodeError, Key, decode, encode, models, operations, root_of_party
from trading_gateway._calls import target_of

ROOT = Path(__file__).resolve().parents[3]


def read(path: str) -> Any:
    return json.loads((ROOT / path).read_text())


class Keys(unittest.TestCase):
    def test_reproduce_the_signatures_of_the_vectors(self) -> None:
        vectors = read("test/vectors/auth.json")
        keys = [Key(one["seed"]) for one in vectors["keys"].values()]
        cases = [*vectors["login"], *vectors["api_key"], *vectors["ws_auth"]]
        for case in cases:
            self.assertIn(case["signature"]["hex_0x"], [key.sign(case["message"]) for key in keys])
        self.assertGreater(len(cases), 10)

    def test_derive_the_addresses_of_the_contract(self) -> None:
        vectors = read("test/vectors/auth.json")
        by_public = {Key(one["seed"]).public_key[2:]: Key(one["seed"]) for one in vectors["keys"].values()}
        key = by_public["d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"]
        self.assertEqual(key.root_address, "0x63c5215e87770d17b9f4cd47c777e322f4eb152cfd2054c1080fd9d57c48913b")
        party = by_public["fc51cd8e6218a1a38da47ed00230f0580816ed13ba3303ac5deb911548908025"].party("alice")
        self.assertEqual(party, "alice::122080780bf09bf495621e184c11cb3df211cdeb1a59e9aca9b74dcb450174985411")
        self.assertEqual(root_of_party(party), "0xc40931f4e469934e56c0b83e41e7d8c97cc3554046cb063adc3778c3837be63d")

    def test_load_from_a_seed_in_any_form(self) -> None:
        key = Key.generate()
        for source in (key.seed, f"0x{key.seed}", bytes.fromhex(key.seed)):
            self.assertEqual(Key(source).public_key, key.public_key)
        self.assertNotIn(key.seed, repr(key))
        wrong: List[Any] = [b"short", "xyz", f"{key.seed}00", 32, None]
        for seed in wrong:
            with self.assertRaisesRegex(ValueError, "^seed: expected 32 bytes, or 64 hex digits$"):
                Key(seed)


class Records(unittest.TestCase):
    def test_decode_the_example_of_each_operation_without_loss(self) -> None:
        paths = read("docs/openapi.json")["paths"]
        known = [value for value in vars(operations).values() if isinstance(value, operations.Operation)]
        for operation in known:
            path = "/api/v1" + "/".join(f"{{{p[1:]}}}" if p.startswith(":") else p for p in operation.path.split("/"))
            responses = paths[path][operation.method.lower()]["responses"]
            (response,) = [body for status, body in responses.items() if status.startswith("2")]
            example = response["content"]["application/json"]["example"]
            with self.subTest(operation.name):
                self.assertEqual(encode(unfloat(decode(operation.result, example))), without_empty(example))
        self.assertGreater(len(known), 60)

    def test_decode_the_example_of_each_event_without_loss(self) -> None:
        messages = read("docs/asyncapi.json")["components"]["messages"]
        count = 0
        for name, message in messages.items():
            for one in message.get("examples", []):
                frame = one["payload"]
                if frame.get("op") == "event":
                    kind = models.EVENTS["trade/" if frame["topic"].startswith("trade/") else frame["topic"].split(".")[0]]
                    with self.subTest(name):
                        self.assertEqual(encode(decode(kind, frame)), without_empty(frame))
                    count += 1
        self.assertGreaterEqual(count, 8)

    def test_accept_new_fields_and_values_and_refuse_a_wrong_form(self) -> None:
        ref = {"order_id": "1", "order_link_id": "a", "of_the_future": {}}
        self.assertEqual(decode(models.OrderRef, ref), models.OrderRef("1", "a"))
        with self.assertRaisesRegex(DecodeError, "OrderRef.order_link_id is missing"):
            decode(models.OrderRef, {"order_id": "1"})
        with self.assertRaisesRegex(DecodeError, "ServerTime.server_ts_ms: expected int, got '1'"):
            decode(models.ServerTime, {"server_ts_ms": "1", "time_second": 1, "time_nano": "1"})
        candle = {"sub_account_address": "0x1", "enabled": 1, "time_window": 1}
        with self.assertRaisesRegex(DecodeError, "expected bool"):
            decode(models.Switch, candle)
        self.assertEqual(decode(models.MarginSetting, {"symbol": "A", "margin_mode": "New", "leverage": "1"}).margin_mode, "New")

    def test_have_paths_with_escaped_parts(self) -> None:
        uri, body = target_of(operations.WITHDRAWAL_ADDRESS_REMOVE, {"destination": "a::b/c"})
        self.assertEqual((uri, body), ("/api/v1/account/withdrawal-addresses/a%3A%3Ab%2Fc", b""))


def unfloat(value: Any) -> Any:
    """Numbers of the portfolio as the document writes them."""
    if isinstance(value, models.Portfolio):
        return json.loads(json.dumps(value, default=vars), parse_float=lambda text: int(float(text)) if float(text).is_integer() else Text(text))
    return value


class Text(str):
    """A number as text; equal to the number."""

    def __eq__(self, other: object) -> bool:
        return isinstance(other, (int, float)) and float(self) == float(other)

    __hash__ = str.__hash__


def without_empty(value: Any) -> Any:
    """The value without fields that mean nothing: "" of a price or side."""
    if isinstance(value, dict):
        return {name: without_empty(one) for name, one in value.items() if not (one == "" and name in EMPTY)}
    return [without_empty(one) for one in value] if isinstance(value, list) else value


EMPTY = frozenset({"side", "liq_price", "bust_price", "take_profit", "stop_loss"})

if __name__ == "__main__":
    unittest.main()
