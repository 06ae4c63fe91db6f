"""Calls: requests, retries and limits, with a simulated clock. The rules are those of the TypeScript SDK."""

import hashlib
import json
import unittest
from decimal import Decimal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from trading_gateway import ExchangeError, Limits, Unanswered, errors, rows
from trading_gateway.models import CreateOrderBody, TpslAsked, LegAsked, LegAskedMarket
from world import KEY, LOGIN, ORDER, ORDER_ID, SEED, VAULT, World, in_turn, refusal, reply, unavailable

REF = {"order_id": ORDER_ID, "order_link_id": ""}
PAGE = {"list": [], "next_page_cursor": ""}
DUPLICATE = refusal(409, "CONFLICT", reason="DuplicateOrderLinkId", order_id=ORDER_ID)


def verify(public_key: str, message: str, signature: str) -> None:
    key = Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key[2:]))
    key.verify(bytes.fromhex(signature[2:]), message.encode())


class Requests(unittest.TestCase):
    def test_put_the_input_into_path_query_and_body_and_sign_what_is_sent(self) -> None:
        world = World(key=SEED)
        sub_account = {"sub_account_address": VAULT, "index": 0, "label": "a b", "frozen": False, "created_time": 1}
        world.answers = {
            "/order/history": in_turn(reply(PAGE)),
            "/order/create": in_turn(reply(REF)),
            f"/user/sub-accounts/{VAULT}": in_turn(reply(sub_account)),
        }
        world.exchange.order.history(symbol="BTC-USDC", order_status=["New", "Filled"], limit=50)
        leg = LegAsked(LegAskedMarket(Decimal("1E-8")))
        world.exchange.order.create(**{**ORDER, "qty": Decimal("0.50")}, order_link_id="a-1", tpsl=TpslAsked(stop_loss=leg))
        world.exchange.user.change_sub_account(sub_account_address=VAULT, label="a b")
        sent = [(send.method, send.uri, send.body.decode()) for send in world.asked]
        tpsl = {"stop_loss": {"market": {"trigger_price": "0.00000001"}}}
        self.assertEqual(sent[0], ("GET", "/api/v1/order/history?symbol=BTC-USDC&limit=50&order_status=New&order_status=Filled", ""))
        self.assertEqual(json.loads(sent[1][2]), {**ORDER, "qty": "0.50", "order_link_id": "a-1", "tpsl": tpsl})
        self.assertEqual(sent[2], ("PATCH", f"/api/v1/user/sub-accounts/{VAULT}", '{"label":"a b"}'))
        for send in world.asked:
            headers = send.headers
            digest = hashlib.sha256(send.body).hexdigest()
            self.assertEqual(headers["X-BODY-SHA256"], digest)
            signed = f"{send.method}|{send.uri}|{headers['X-TIMESTAMP-MS']}|{headers['X-NONCE']}|{digest}"
            verify(KEY.public_key, f"SERVICE_API|{signed}", headers["X-SIGNATURE"])
            self.assertEqual(headers.get("Content-Type"), "application/json" if send.body else None)
        self.assertEqual(len({send.headers["X-NONCE"] for send in world.asked}), 3)

    def test_send_no_credential_to_a_public_operation(self) -> None:
        world = World(key=SEED)
        world.answers["/market/tickers"] = in_turn(reply({"list": []}))
        self.assertEqual(world.exchange.market.tickers().list, [])
        self.assertEqual(world.asked[0].headers, {})

    def test_refuse_a_float(self) -> None:
        with self.assertRaisesRegex(TypeError, "^qty: expected a Decimal or text, got the float 0.5"):
            World(key=SEED).exchange.order.create(**{**ORDER, "qty": 0.5})

    def test_raise_the_error_of_the_reason(self) -> None:
        world = World(key=SEED)
        world.answers["/order/amend"] = in_turn(refusal(409, "CONFLICT", reason="OrderVersionMismatch", version=3))
        with self.assertRaises(errors.OrderVersionMismatch) as caught:
            world.exchange.order.amend(sub_account_address=VAULT, symbol="BTC-USDC", order_id=ORDER_ID, order_iv=2)
        error = caught.exception
        self.assertIsInstance(error, errors.Conflict)
        self.assertEqual((error.status, error.details["version"], error.refused, error.request_id), (409, 3, True, "r-1"))
        self.assertEqual(len(world.asked), 1)

    def test_of_an_unknown_reason_raise_the_error_of_the_code(self) -> None:
        world = World(key=SEED)
        world.answers["/user/me"] = in_turn(refusal(403, "FORBIDDEN", reason="OfTheFuture"))
        with self.assertRaises(errors.Forbidden) as caught:
            world.exchange.user.me()
        self.assertEqual(caught.exception.reason, "OfTheFuture")

    def test_read_all_pages(self) -> None:
        world = World(key=SEED)
        page = lambda cursor, *ids: reply({"list": [{"transfer_id": i, **TRANSFER} for i in ids], "next_page_cursor": cursor})
        TRANSFER = {"from_sub_account_address": VAULT, "to_sub_account_address": VAULT, "asset": "USDC", "amount": "1",
                    "status": "completed", "created_time": 1, "updated_time": 1}
        world.answers["/account/transfer"] = in_turn(page("c1", "a", "b"), page("c2"), page("", "c"))
        found = [transfer.transfer_id for transfer in rows(world.exchange.account.transfers, limit=2)]
        self.assertEqual(found, ["a", "b", "c"])
        self.assertEqual([send.uri.split("?")[1] for send in world.asked], ["limit=2", "limit=2&cursor=c1", "limit=2&cursor=c2"])


class Clock(unittest.TestCase):
    def test_follows_the_gateway(self) -> None:
        world = World(key=SEED)
        world.ahead_s = -3600
        world.run(world.calls.sync_clock())
        self.assertEqual(world.calls.clock.offset_ms, -3_600_000)

    def test_is_corrected_once_after_a_stale_timestamp(self) -> None:
        world = World(key=SEED)
        world.ahead_s = 90

        def me(send, times):
            if int(send.headers["X-TIMESTAMP-MS"]) == world.gateway_ms:
                return refusal(403, "FORBIDDEN", reason="NotWhitelisted")
            return refusal(401, "UNAUTHORIZED", reason="StaleTimestamp", server_time_ms=world.gateway_ms)

        world.answers["/user/me"] = me
        with self.assertRaises(errors.NotWhitelisted):
            world.exchange.user.me()
        self.assertEqual(len(world.asked), 2)
        world.answers["/user/me"] = in_turn(refusal(401, "UNAUTHORIZED", reason="StaleTimestamp", server_time_ms=1))
        with self.assertRaises(errors.StaleTimestamp):
            world.exchange.user.me()
        self.assertEqual(len(world.asked), 4)


class Wallets(unittest.TestCase):
    def test_log_in_as_a_party_and_sign_each_attempt_separately(self) -> None:
        party = KEY.party("alice")
        world = World(wallet=SEED, party=party)
        world.answers["/authorize"] = in_turn(None, reply(LOGIN))
        world.answers["/user/rewards"] = in_turn(reply(PAGE))
        world.exchange.reward.rewards()
        bodies = [json.loads(send.body) for send in world.asks("/authorize")]
        self.assertEqual(len({body["nonce"] for body in bodies}), 2)
        for body in bodies:
            self.assertEqual(body["public_key"], party)
            message = f"SERVICE_AUTH|LOGIN|{party}|{body['timestamp_ms']}|{body['nonce']}"
            verify(body["verifying_key"], message, body["signature"])

    def test_renew_their_token_before_and_after_it_ends(self) -> None:
        world = World(wallet=SEED)
        login = lambda send, times: reply({**LOGIN, "token": f"TK{times}", "expires_at_ms": world.gateway_ms + 600_000})
        world.answers["/authorize"] = login
        world.answers["/user/rewards"] = lambda send, times: (
            refusal(401, "UNAUTHORIZED", reason="RevokedToken")
            if send.headers["Authorization"] == "Bearer TK1"
            else reply(PAGE)
        )
        world.exchange.reward.rewards()
        self.assertEqual(len(world.asks("/authorize")), 2)
        world.now += 550
        world.exchange.reward.rewards()
        self.assertEqual(world.asked[-1].headers["Authorization"], "Bearer TK3")

    def test_do_not_log_in_again_after_a_ban(self) -> None:
        world = World(wallet=SEED)
        world.answers["/user/me"] = in_turn(refusal(401, "UNAUTHORIZED", reason="RevokedToken", cause="banned"))
        with self.assertRaises(errors.RevokedToken):
            world.exchange.user.me()
        self.assertEqual((len(world.asks("/authorize")), len(world.asks("/user/me"))), (1, 1))

    def test_whose_every_token_is_refused_raise(self) -> None:
        world = World(wallet=SEED)
        world.answers["/user/me"] = in_turn(refusal(401, "UNAUTHORIZED", reason="RevokedToken"))
        with self.assertRaises(errors.RevokedToken):
            world.exchange.user.me()
        self.assertEqual(len(world.asks("/user/me")), 2)


class RateLimits(unittest.TestCase):
    def test_delay_calls_before_they_are_exceeded_for_each_bucket(self) -> None:
        world = World(key=SEED)
        full = reply(PAGE, ratelimit_remaining="0", ratelimit_reset="7")
        world.answers["/order/history"] = in_turn(full, reply(PAGE))
        world.answers["/market/tickers"] = in_turn(reply({"list": []}))
        world.answers["/order/cancel"] = in_turn(reply(REF, ratelimit_remaining="0", ratelimit_reset="40"))
        world.exchange.order.history()
        world.exchange.market.tickers()
        world.exchange.order.cancel(sub_account_address=VAULT, symbol="BTC-USDC", order_id=ORDER_ID)
        self.assertEqual(world.slept, [])
        world.exchange.order.history()
        self.assertEqual(world.slept, [7])

    def test_that_were_exceeded_delay_every_call_and_do_not_count_as_tries(self) -> None:
        world = World(key=SEED, limits=Limits(tries_max=2))
        over = refusal(429, "RateLimitExceeded", {"retry-after": "3"})
        world.answers["/order/history"] = in_turn(over, over, over, None, reply(PAGE))
        world.exchange.order.history()
        self.assertEqual(world.slept, [3, 3, 3, 0.15])

    def test_delay_a_call_no_longer_than_its_patience(self) -> None:
        world = World(key=SEED)
        world.answers["/order/history"] = in_turn(refusal(429, "RateLimitExceeded", {"retry-after": "30"}))
        with self.assertRaises(errors.TooManyRequests) as caught:
            world.exchange.order.history()
        self.assertTrue(caught.exception.refused)
        self.assertEqual(world.slept, [30, 30])

    def test_of_a_proxy_without_headers_are_retried_with_back_off(self) -> None:
        world = World(key=SEED, limits=Limits(patience_s=10))
        world.answers["/order/history"] = in_turn((429, b"slow down", {}))
        with self.assertRaises(errors.TooManyRequests):
            world.exchange.order.history()
        self.assertEqual(world.slept, [0.15, 0.3, 0.6, 1.2, 2.4, 4.8])


class UnansweredCalls(unittest.TestCase):
    def test_are_retried_with_back_off_if_they_only_read(self) -> None:
        world = World(key=SEED, limits=Limits(tries_max=4))
        world.answers["/order/history"] = in_turn(None)
        with self.assertRaises(Unanswered) as caught:
            world.exchange.order.history()
        self.assertFalse(caught.exception.refused)
        self.assertEqual((len(world.asked), world.slept), (4, [0.15, 0.3, 0.6]))

    def test_are_surely_refused_where_they_only_read(self) -> None:
        world = World(key=SEED)
        world.answers["/order/history"] = in_turn(None, refusal(400, "BAD_REQUEST", reason="InvalidCursor"))
        with self.assertRaises(errors.InvalidCursor) as caught:
            world.exchange.order.history(cursor="x")
        self.assertTrue(caught.exception.refused)

    def test_are_not_retried_if_they_could_have_effect_twice(self) -> None:
        for lost in (None, unavailable("DeadlineExceeded"), (502, b"<html>", {}), (200, b'{"order_i', {})):
            world = World(key=SEED)
            world.answers["/order/amend"] = in_turn(lost)
            with self.assertRaises(ExchangeError) as caught:
                world.exchange.order.amend(sub_account_address=VAULT, symbol="BTC-USDC", order_id=ORDER_ID)
            self.assertFalse(caught.exception.refused)
            self.assertEqual(len(world.asked), 1)

    def test_are_retried_if_the_gateway_guarantees_that_nothing_happened(self) -> None:
        world = World(key=SEED)
        busy = unavailable("Overloaded", {"retry-after": "1"})
        world.answers["/order/amend"] = in_turn(unavailable("ShuttingDown"), busy, reply(REF))
        world.exchange.order.amend(sub_account_address=VAULT, symbol="BTC-USDC", order_id=ORDER_ID)
        self.assertEqual((len(world.asked), world.slept), (3, [0.15, 1.3]))

    def test_end_if_the_gateway_asks_for_a_longer_wait_than_the_patience(self) -> None:
        world = World(key=SEED)
        world.answers["/order/history"] = in_turn((503, b"gone", {"retry-after": "3600"}))
        with self.assertRaises(errors.Internal):
            world.exchange.order.history()
        self.assertEqual((world.slept, len(world.asked)), ([], 1))


class NewOrders(unittest.TestCase):
    def test_are_repeated_with_the_same_reference_and_return_the_first_result(self) -> None:
        world = World(key=SEED)
        world.answers["/order/create"] = in_turn(None, unavailable("DeadlineExceeded"), DUPLICATE)
        placed = world.exchange.order.create(**ORDER)
        bodies = [json.loads(send.body) for send in world.asked]
        self.assertEqual(len(bodies), 3)
        self.assertRegex(bodies[0]["order_link_id"], "^[0-9a-f]{32}$")
        self.assertEqual(bodies[0], bodies[2])
        self.assertEqual((placed.order_id, placed.order_link_id), (ORDER_ID, bodies[0]["order_link_id"]))

    def test_with_a_reference_in_use_are_refused(self) -> None:
        world = World(key=SEED)
        world.answers["/order/create"] = in_turn(unavailable("BackendUnavailable"), DUPLICATE)
        with self.assertRaises(errors.DuplicateOrderLinkId) as caught:
            world.exchange.order.create(**ORDER, order_link_id="a-1")
        self.assertEqual(caught.exception.details["order_id"], ORDER_ID)

    def test_refused_after_an_unanswered_attempt_have_an_unknown_outcome(self) -> None:
        world = World(key=SEED)
        world.answers["/order/create"] = in_turn(None, refusal(403, "FORBIDDEN", reason="SubAccountFrozen"))
        with self.assertRaises(errors.SubAccountFrozen) as caught:
            world.exchange.order.create(**ORDER)
        self.assertFalse(caught.exception.refused)

    def test_whose_login_is_refused_after_an_unanswered_attempt_have_an_unknown_outcome(self) -> None:
        world = World(wallet=SEED)
        world.answers["/authorize"] = in_turn(reply(LOGIN), refusal(403, "FORBIDDEN", reason="WalletBanned"))
        world.answers["/order/create"] = in_turn(None, refusal(401, "UNAUTHORIZED", reason="ExpiredToken"))
        with self.assertRaises(errors.Forbidden) as caught:
            world.exchange.order.create(**ORDER)
        self.assertFalse(caught.exception.refused)

    def test_of_a_batch_are_recognized_after_an_unanswered_attempt(self) -> None:
        world = World(key=SEED)
        taken = {"code": "CONFLICT", "message": "no", "order_link_id": "a-1",
                 "details": {"reason": "DuplicateOrderLinkId", "order_id": ORDER_ID}}
        wrong = {"code": "BAD_REQUEST", "message": "no", "order_link_id": "", "details": {"reason": "NotMultipleOfStep"}}
        world.answers["/order/create-batch"] = in_turn(None, reply({"list": [taken, wrong]}))
        orders = [CreateOrderBody(**ORDER, order_link_id="a-1"), CreateOrderBody(**ORDER)]
        results = world.exchange.order.create_batch(orders=orders).list
        self.assertEqual([(one.code, one.order_id, one.order_link_id) for one in results],
                         [("OK", ORDER_ID, "a-1"), ("BAD_REQUEST", None, "")])
        links = [json.loads(send.body)["orders"][1]["order_link_id"] for send in world.asked]
        self.assertEqual(links[0], links[1])

    def test_of_a_batch_that_a_503_refused_are_repeated_alone(self) -> None:
        world = World(key=SEED)

        def late(link, reason="Overloaded"):
            return {"code": "SERVICE_UNAVAILABLE", "message": "no", "order_link_id": link, "details": {"reason": reason}}

        fine = lambda link: {"code": "OK", "message": "", "order_id": ORDER_ID, "order_link_id": link}
        links = lambda send: [order["order_link_id"] for order in json.loads(send.body)["orders"]]

        def batch(send, times):
            first, *others = links(send)
            results = [late(first, "BackendLagging"), fine(others[0]), late(others[1])] if times == 1 else [fine(first), *map(late, others)]
            return reply({"list": results})

        world.answers["/order/create-batch"] = batch
        orders = [CreateOrderBody(**ORDER, order_link_id=link) for link in "abc"]
        results = world.exchange.order.create_batch(orders=orders).list
        self.assertEqual([(one.code, one.order_link_id) for one in results], [("OK", link) for link in "abc"])
        self.assertEqual([links(send) for send in world.asked], [["a", "b", "c"], ["a", "c"], ["c"]])
        self.assertEqual(world.slept, [1.15, 1.3])

        ending = World(key=SEED)
        ending.answers["/order/create-batch"] = in_turn(
            reply({"list": [fine("a"), late("b")]}), refusal(403, "FORBIDDEN", reason="SubAccountFrozen")
        )
        results = ending.exchange.order.create_batch(orders=orders[:2]).list
        self.assertEqual([(one.code, (one.details or {}).get("outcome")) for one in results],
                         [("OK", None), ("FORBIDDEN", "refused")])


if __name__ == "__main__":
    unittest.main()
