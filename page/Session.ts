/** Who is signed in, and all that is theirs: the account as the private feed tells it, fills, and what may be asked. */
import { Effect, HashMap } from "effect"
import * as Account from "../src/client/Account.ts"
import { isPassing } from "../src/client/Backoff.ts"
import type { FeedEvent } from "../src/client/FeedEvent.ts"
import * as Wallet from "../src/client/Wallet.ts"
import type { Execution } from "../src/domain/Execution.ts"
import { privateTopics } from "../src/domain/Topic.ts"
import type { BalanceRecord } from "../src/ws/api/TopicData.ts"
import { follow, type Following } from "./Following.ts"
import { Live } from "./Frame.ts"
import * as Keys from "./Keys.ts"
import { CONNECTING, entered, type Line } from "./Market.ts"
import * as Rest from "./Rest.ts"

/** Remembers that the owner of the key was signed in, so that the page signs in again by itself. */
const STAYS = "trading-gateway/signed-in"

export const COLLATERAL = "USDC"

export interface SignedIn {
  readonly key: Keys.Key
  readonly user_id: string
  /** The sub-account that the page trades with: the first. */
  readonly address: string
}

/** What came of coming back: whether everything that happened meanwhile was told. */
export interface Return {
  readonly recovered: boolean
  readonly at_ms: number
}

export class Session {
  readonly who = new Live<SignedIn | undefined>(undefined)
  readonly key = new Live<Keys.Key | undefined>(undefined)
  readonly account = new Live<Account.Account>(Account.empty)
  readonly fills = new Live<ReadonlyArray<Execution>>([])
  readonly line = new Live<Line>(CONNECTING)
  readonly returned = new Live<Return | undefined>(undefined)
  /** Told of each event of the private feed, after it was taken in. */
  onEvent: (event: FeedEvent) => void = () => {}
  private readonly now: () => number
  private token = ""
  private following: Following | undefined

  /** `now` is the gateway's time: what is signed carries it. */
  constructor(now: () => number) {
    this.now = now
  }

  /** Finds the key that this browser holds, and signs in where its owner had not left. */
  async begin(): Promise<void> {
    this.key.set(await Keys.held())
    if (this.key.value !== undefined && localStorage.getItem(STAYS) !== null) await this.signIn()
  }

  /** Signs in, with a new key where there is none. */
  async signIn(): Promise<void> {
    const key = this.key.value ?? (await Keys.make())
    this.key.set(key)
    const { user_id } = await this.logIn(key)
    const { list } = await this.ask().subAccounts()
    localStorage.setItem(STAYS, "yes")
    this.who.set({ key, user_id, address: list[0]!.sub_account_address })
    this.line.set({ ...CONNECTING, since_ms: Date.now() })
    this.following = follow(privateTopics, (event) => this.take(event), {
      authFrame: () => ({ bearer: this.token }),
      renew: Effect.promise(() => this.renewed(key))
    })
    await this.readFills()
  }

  /** Signs out; the key stays in the browser. */
  async signOut(): Promise<void> {
    const leaving = this.ask()
    this.leave()
    await leaving.logout()
  }

  private leave(): void {
    this.following?.stop()
    this.following = undefined
    localStorage.removeItem(STAYS)
    this.who.set(undefined)
    this.account.set(Account.empty)
    this.fills.set([])
    this.returned.set(undefined)
  }

  /** Of the records of the account, those of the sub-account that the page trades with. */
  own<A extends { readonly sub_account_address: string }>(records: HashMap.HashMap<string, A>): ReadonlyArray<A> {
    return [...HashMap.values(records)].filter((record) => record.sub_account_address === this.who.value?.address)
  }
  /** The collateral of that sub-account. */
  balance(): BalanceRecord | undefined {
    return this.own(this.account.value.balances).find(({ asset }) => asset === COLLATERAL)
  }

  /** What the one who is signed in may ask. */
  ask(): Rest.Owner {
    return Rest.asOwner(this.token)
  }

  private async logIn(key: Keys.Key) {
    const timestamp_ms = this.now()
    const nonce = Wallet.nonce()
    const signature = await key.sign(Wallet.loginMessage(key.public_key, timestamp_ms, nonce))
    const login = await Rest.login({ public_key: key.public_key, signature, timestamp_ms, nonce })
    this.token = login.token
    return login
  }
  private async renewed(key: Keys.Key): Promise<"renewed" | "later" | "refused"> {
    try {
      await this.logIn(key)
      return "renewed"
    } catch (error) {
      const isFinal = error instanceof Rest.Refused && error.status !== 0 && !isPassing(error.reason)
      return isFinal && error.status < 500 && error.status !== 429 ? "refused" : "later"
    }
  }

  private async readFills(): Promise<void> {
    const { list } = await this.ask().executions()
    this.fills.set(merged(list, this.fills.value))
  }

  private take(event: FeedEvent): void {
    this.account.set(Account.apply(this.account.value, event))
    if (event.kind === "state") this.line.set(entered(this.line.value, event.state))
    if (event.kind === "execution") this.fills.set(merged(event.data.list.toReversed(), this.fills.value))
    if (event.kind === "resume") {
      this.returned.set({ recovered: event.recovered, at_ms: Date.now() })
      // the hole can be read from the list
      if (!event.recovered) this.readFills().catch(() => {})
    }
    this.onEvent(event)
    // the token is good for nothing any more, and there is no other: who wants to go on signs in again
    if (event.kind === "state" && event.state.type === "ended") this.leave()
  }
}

/** Newer fills before older ones, each once. */
const merged = (newer: ReadonlyArray<Execution>, older: ReadonlyArray<Execution>): ReadonlyArray<Execution> => {
  const known = new Map<string, Execution>()
  for (const fill of [...newer, ...older]) if (!known.has(fill.exec_id)) known.set(fill.exec_id, fill)
  return [...known.values()]
    .sort((a, b) => Number(b.exec_time) - Number(a.exec_time) || b.seq - a.seq)
    .slice(0, Rest.FILLS_MAX)
}
