/** The signed-in user: login, account state and fills from the private feed, and the authenticated requests. */
import { Effect, HashMap } from "effect"
import * as Account from "../src/client/Account.ts"
import { isPassing } from "../src/client/Backoff.ts"
import type { FeedEvent } from "../src/client/FeedEvent.ts"
import * as Wallet from "../src/client/Wallet.ts"
import type { MarginMode } from "../src/domain/Enumerations.ts"
import type { Execution } from "../src/domain/Execution.ts"
import type { Position } from "../src/domain/Position.ts"
import { privateTopics } from "../src/domain/Topic.ts"
import type { BalanceRecord } from "../src/ws/api/TopicData.ts"
import { follow, type LiveFeed } from "./LiveFeed.ts"
import { Live } from "./Frame.ts"
import * as Keys from "./Keys.ts"
import { CONNECTING, nextStatus, type FeedStatus } from "./Market.ts"
import * as Rest from "./Rest.ts"

/** Set while the user is signed in, so that a reload signs in again. */
const SIGNED_IN = "trading-gateway/signed-in"

export const COLLATERAL = "USDC"

export interface SignedIn {
  readonly key: Keys.Key
  readonly user_id: string
  /** The sub-account that the page trades with: the user's first. */
  readonly address: string
}

/** Leverage and margin mode that are set in a market. */
export interface MarginSetting {
  readonly leverage: string
  readonly margin_mode: MarginMode
}

/** A completed reconnect, and whether all missed events were replayed. */
export interface Return {
  readonly recovered: boolean
  readonly at_ms: number
}

export class Session {
  readonly user = new Live<SignedIn | undefined>(undefined)
  readonly key = new Live<Keys.Key | undefined>(undefined)
  readonly account = new Live<Account.Account>(Account.empty)
  readonly fills = new Live<ReadonlyArray<Execution>>([])
  readonly status = new Live<FeedStatus>(CONNECTING)
  readonly returned = new Live<Return | undefined>(undefined)
  /** Leverage and margin mode by market, of the markets that were read or changed. */
  readonly settings = new Live<ReadonlyMap<string, MarginSetting>>(new Map())
  private readonly listeners: Array<(event: FeedEvent) => void> = []
  private readonly now: () => number
  private token = ""
  private following: LiveFeed | undefined

  /** `now` is the gateway's time, for signatures. */
  constructor(now: () => number) {
    this.now = now
  }

  /** Calls a function for each event of the private feed, after the account state was updated. */
  listen(listener: (event: FeedEvent) => void): void {
    this.listeners.push(listener)
  }

  /** Loads the stored key, and signs in if the user did not sign out before. */
  async begin(): Promise<void> {
    this.key.set(await Keys.held())
    if (this.key.value !== undefined && localStorage.getItem(SIGNED_IN) !== null) await this.signIn()
  }

  /** Signs in; creates a key if there is none. */
  async signIn(): Promise<void> {
    const key = this.key.value ?? (await Keys.make())
    this.key.set(key)
    const { user_id } = await this.logIn(key)
    const { list } = await this.api().subAccounts()
    localStorage.setItem(SIGNED_IN, "yes")
    this.user.set({ key, user_id, address: list[0]!.sub_account_address })
    this.status.set({ ...CONNECTING, since_ms: Date.now() })
    this.following = follow(privateTopics, (event) => this.take(event), {
      authFrame: () => ({ bearer: this.token }),
      renew: Effect.promise(() => this.renewed(key))
    })
    await this.readFills()
  }

  /** Signs out; the key stays stored in the browser. */
  async signOut(): Promise<void> {
    const api = this.api()
    this.leave()
    await api.logout()
  }

  private leave(): void {
    this.following?.stop()
    this.following = undefined
    localStorage.removeItem(SIGNED_IN)
    this.user.set(undefined)
    this.account.set(Account.empty)
    this.fills.set([])
    this.returned.set(undefined)
    this.settings.set(new Map())
  }

  /** Loads leverage and margin mode of a market, unless they are known. */
  async readSetting(symbol: string): Promise<void> {
    if (this.user.value === undefined || this.settings.value.has(symbol)) return
    this.keepSettings((await this.api().positions(symbol)).list)
  }
  /** Keeps a setting that the exchange confirmed. */
  setSetting(symbol: string, setting: MarginSetting): void {
    this.settings.set(new Map([...this.settings.value, [symbol, setting]]))
  }
  private keepSettings(positions: ReadonlyArray<Position>): void {
    const own = positions.filter((each) => each.sub_account_address === this.user.value?.address)
    if (own.length === 0) return
    const changed = own.map(({ leverage, margin_mode, symbol }) => [symbol, { leverage, margin_mode }] as const)
    this.settings.set(new Map([...this.settings.value, ...changed]))
  }

  /** The records of the sub-account that the page trades with. */
  own<A extends { readonly sub_account_address: string }>(records: HashMap.HashMap<string, A>): ReadonlyArray<A> {
    return [...HashMap.values(records)].filter((record) => record.sub_account_address === this.user.value?.address)
  }
  /** The collateral balance of that sub-account. */
  balance(): BalanceRecord | undefined {
    return this.own(this.account.value.balances).find(({ asset }) => asset === COLLATERAL)
  }

  /** Requests with the user's token. */
  api(): Rest.Owner {
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
      const isFinal = error instanceof Rest.ApiFailure && error.status !== 0 && !isPassing(error.reason)
      return isFinal && error.status < 500 && error.status !== 429 ? "refused" : "later"
    }
  }

  private async readFills(): Promise<void> {
    const { list } = await this.api().executions()
    this.fills.set(merged(list, this.fills.value))
  }

  private take(event: FeedEvent): void {
    this.account.set(Account.apply(this.account.value, event))
    if (event.kind === "state") this.status.set(nextStatus(this.status.value, event.state))
    if (event.kind === "execution") this.fills.set(merged(event.data.list.toReversed(), this.fills.value))
    if (event.kind === "resume") {
      this.returned.set({ recovered: event.recovered, at_ms: Date.now() })
      // the missed fills are in the list
      if (!event.recovered) this.readFills().catch(() => {})
    }
    if (event.kind === "position") this.keepSettings(event.data.list)
    for (const listener of this.listeners) listener(event)
    // the token has ended and cannot be renewed: the user must sign in again
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
