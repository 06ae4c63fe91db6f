/** The signed-in user: login, account state and fills from the private feed, and the authenticated requests. */
import { Effect, HashMap } from "effect"
import * as Account from "../src/client/Account.ts"
import type { FeedEvent } from "../src/client/FeedEvent.ts"
import { signed } from "../src/client/Signed.ts"
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
/** The sub-account that the user chose last. */
const SUB_ACCOUNT = "trading-gateway/sub-account"

/** Scopes of the page's own API key: everything but withdrawals. */
const SCOPES = ["read", "trade", "account", "transfer"] as const

export const COLLATERAL = "USDC"

export interface SignedIn {
  readonly key: Keys.Key
  readonly user_id: string
  /** The sub-account that the page trades with. */
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
  /** Those of the sub-account that the page trades with. */
  readonly fills = new Live<ReadonlyArray<Execution>>([])
  readonly status = new Live<FeedStatus>(CONNECTING)
  readonly returned = new Live<Return | undefined>(undefined)
  /** Leverage and margin mode by market, of the markets that were read or changed. */
  readonly settings = new Live<ReadonlyMap<string, MarginSetting>>(new Map())
  private readonly listeners: Array<(event: FeedEvent) => void> = []
  private readonly now: () => number
  private token = ""
  /** The API key that signs the requests; without one, the token does. */
  private apiKey: Keys.Registered | undefined
  private following: LiveFeed | undefined

  /** `now` is the gateway's time, for signatures. */
  constructor(now: () => number) {
    this.now = now
    // signing out, or another wallet, applies to every tab of this browser
    addEventListener("storage", ({ key, newValue }) => {
      if (key === SIGNED_IN && newValue !== this.user.value?.key.public_key) {
        this.leave()
        this.begin().catch(() => {})
      }
    })
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
    await this.useApiKey(key)
    const { list } = await this.api().subAccounts()
    const addresses = list.map(({ sub_account_address }) => sub_account_address)
    const last = localStorage.getItem(SUB_ACCOUNT)
    localStorage.setItem(SIGNED_IN, key.public_key)
    this.user.set({ key, user_id, address: addresses.find((each) => each === last) ?? addresses[0]! })
    this.status.set({ ...CONNECTING, since_ms: Date.now() })
    this.following = follow(privateTopics, (event) => this.take(event), {
      authFrame: () => ({ bearer: this.token }),
      renew: Effect.promise(() => this.renewed(key))
    })
    await this.readFills()
  }

  /** Signs out in every tab and revokes the page's API key; the wallet stays in the browser. */
  async signOut(): Promise<void> {
    const { apiKey } = this
    const wallet = this.user.value?.key.public_key
    const owner = this.owner()
    localStorage.removeItem(SIGNED_IN)
    this.leave()
    if (apiKey !== undefined && wallet !== undefined) {
      await Keys.forgetApiKey(wallet)
      await owner.revokeApiKey(apiKey.id).catch(() => {})
    }
    await owner.logout()
  }

  /** Replaces the wallet of this browser, and signs in with it. */
  async adopt(seed: string): Promise<void> {
    if (this.user.value !== undefined) await this.signOut()
    this.key.set(await Keys.adopt(seed))
    await this.signIn()
  }
  /** Makes the wallet unreadable for this page too. */
  async seal(): Promise<void> {
    const seed = await this.key.value?.seed?.()
    if (seed === undefined) return
    const key = await Keys.seal(seed)
    this.key.set(key)
    if (this.user.value !== undefined) this.user.set({ ...this.user.value, key })
  }
  /** Trades with another sub-account. */
  choose(address: string): void {
    if (this.user.value === undefined) return
    localStorage.setItem(SUB_ACCOUNT, address)
    this.settings.set(new Map())
    this.fills.set([])
    this.user.set({ ...this.user.value, address })
    this.readFills().catch(() => {})
  }
  /** Id of the API key that this page signs with. */
  get apiKeyId(): string | undefined {
    return this.apiKey?.id
  }

  /** Loads or registers the API key; without one (too many keys, an old browser) the token is enough to trade. */
  private async useApiKey(wallet: Keys.Key): Promise<void> {
    const register = async (public_key: string): Promise<string> => {
      const body = { public_key, label: "market page", scopes: SCOPES, require_body_hash: true }
      return (await this.owner().createApiKey(body)).api_key_id
    }
    this.apiKey = await Keys.apiKey(wallet.public_key)
    this.apiKey ??= await Keys.makeApiKey(wallet.public_key, register).catch(() => undefined)
  }

  private leave(): void {
    this.apiKey = undefined
    this.following?.stop()
    this.following = undefined
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
    return this.balanceOf(this.user.value?.address)
  }
  balanceOf(address: string | undefined): BalanceRecord | undefined {
    return [...HashMap.values(this.account.value.balances)].find(
      ({ asset, sub_account_address }) => asset === COLLATERAL && sub_account_address === address
    )
  }

  /** Requests of the user. */
  api(): Rest.Owner {
    const { apiKey } = this
    const address = this.user.value?.address ?? ""
    if (apiKey === undefined) return Rest.asOwner(Rest.bearer(this.token), address)
    const credential: Rest.Credential = {
      headers: async ({ body, method, uri }) => {
        if (this.apiKey === undefined) return Rest.bearer(this.token).headers({ body, method, uri })
        const body_sha256 = body === undefined ? undefined : Wallet.bodyHash(new TextEncoder().encode(body))
        const request = signed({ method, uri, timestamp_ms: this.now(), body_sha256 })
        return request.headers(apiKey.key.public_key, await apiKey.key.sign(request.message))
      },
      // a key that was revoked elsewhere: the token takes over, and the next sign-in registers another
      refused: () => {
        // of concurrent requests the first one that is refused forgets the key
        if (this.apiKey === apiKey) {
          this.apiKey = undefined
          const wallet = this.user.value?.key.public_key ?? this.key.value?.public_key
          if (wallet !== undefined) Keys.forgetApiKey(wallet).catch(() => {})
        }
        return this.apiKey === undefined
      }
    }
    return Rest.asOwner(credential, address)
  }
  /** Requests that only the token may make: API keys, and signing out. */
  owner() {
    return Rest.asBearer(this.token)
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
      return error instanceof Rest.ApiFailure && !Rest.isPassing(error) ? "refused" : "later"
    }
  }

  private async readFills(): Promise<void> {
    const address = this.user.value?.address
    const { list } = await this.api().executions()
    if (this.user.value?.address !== address) return
    this.fills.set(merged(list, this.fills.value))
  }

  private take(event: FeedEvent): void {
    this.account.set(Account.apply(this.account.value, event))
    if (event.kind === "state") this.status.set(nextStatus(this.status.value, event.state))
    if (event.kind === "execution") {
      const own = event.data.list.filter((each) => each.sub_account_address === this.user.value?.address)
      this.fills.set(merged(own.toReversed(), this.fills.value))
    }
    if (event.kind === "resume") {
      this.returned.set({ recovered: event.recovered, at_ms: Date.now() })
      // the missed fills are in the list
      if (!event.recovered) this.readFills().catch(() => {})
    }
    if (event.kind === "position") this.keepSettings(event.data.list)
    for (const listener of this.listeners) listener(event)
    // the token has ended and cannot be renewed: the user must sign in again
    if (event.kind === "state" && event.state.type === "ended") {
      localStorage.removeItem(SIGNED_IN)
      this.leave()
    }
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
